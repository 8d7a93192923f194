#ifndef HLOKIT_SRC_TENSOR_PICKLE_READER_H_
#define HLOKIT_SRC_TENSOR_PICKLE_READER_H_

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hlokit/pickle.h"

namespace hlokit {

/// The Python names that the reader knows. They are never looked up anywhere: each is a constant.
enum class PickleGlobal : uint8_t {
  kReconstruct,
  kNdarray,
  kDtype,
  kScalar,
  kFrombuffer,
  kEncode,
  kBytes
};

/// The stack machine behind PickleDocument::Parse. Every object is an entry of `values_`; objects
/// that exist only while an array is being put together (globals, dtypes) have a side entry.
class PickleReader {
 public:
  PickleReader(std::string_view bytes, const PickleLimits& limits)
      : bytes_(bytes), limits_(limits) {}
  Result<PickleDocument> Run();

 private:
  static constexpr PickleId kMark = 0xFFFFFFFF;

  /// An object that is no finished Python value.
  struct Helper {
    enum Kind : uint8_t { kGlobal, kDtype, kUnbuiltArray } kind = kGlobal;
    PickleGlobal global = PickleGlobal::kReconstruct;
    std::string type;   ///< kDtype: kind and size, for instance "f4"
    std::string descr;  ///< kDtype: complete after BUILD
  };

  Status Step(uint8_t opcode);
  Status PushLiteral(uint8_t opcode);
  Status Collect(uint8_t opcode);
  Status Memo(uint8_t opcode);
  Status Global(std::string_view module, std::string_view name);
  Status Reduce();
  Status ReduceEncode(const PickleValue& arguments);
  Status ReduceDtype(const PickleValue& arguments);
  Status ReduceFrombuffer(const PickleValue& arguments);
  Status ReduceScalar(const PickleValue& arguments);
  Status Build();
  Status BuildDtype(Helper& dtype, const PickleValue& state);
  Status BuildArray(PickleId id, const PickleValue& state);
  Status SetArray(PickleValue& value, PickleKind kind, const std::string& descr,
                  std::vector<int64_t> shape, bool fortran_order, std::string_view data);
  Result<std::vector<int64_t>> Shape(PickleId id);

  std::unexpected<Error> Fail(DiagId id, std::string message, std::string help = "");
  std::unexpected<Error> Malformed(std::string what);
  Result<std::string_view> Take(uint64_t count);
  Result<uint64_t> TakeNumber(int bytes);
  Result<PickleId> Pop();
  Result<PickleId> PopKind(PickleKind kind, std::string_view what);
  Result<std::vector<PickleId>> PopToMark();
  Status Push(PickleValue value);
  Status PushHelper(Helper helper);
  const Helper* HelperOf(PickleId id) const;
  bool Is(PickleId id, PickleKind kind) const;

  std::string_view bytes_;
  PickleLimits limits_;
  size_t at_ = 0;
  size_t opcode_at_ = 0;
  size_t decoded_ = 0;  ///< bytes that texts were turned into; bounded, since a text can be shared
  PickleDocument document_;
  std::unordered_map<PickleId, Helper> helpers_;
  std::vector<PickleId> stack_;
  std::unordered_map<uint64_t, PickleId> memo_;
};

}  // namespace hlokit

#endif  // HLOKIT_SRC_TENSOR_PICKLE_READER_H_
