// Writes a Module as an HloModuleProto. Implemented in module_writer.cc (module, computations) and
// instruction_writer.cc.
#ifndef HLOKIT_SRC_PROTO_MODULE_WRITER_H_
#define HLOKIT_SRC_PROTO_MODULE_WRITER_H_

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "extras.h"
#include "hlokit/module.h"
#include "wire.h"

namespace hlokit::proto {

class ModuleWriter {
 public:
  explicit ModuleWriter(const Module& module);

  /// Appends the whole HloModuleProto. False when a part of the module has no proto form; then
  /// problem() says which.
  bool Append(std::string* out);
  const std::string& problem() const { return problem_; }

  /// One HloInstructionProto, as it is when nothing is known but the module itself. The ids are
  /// right only inside Append.
  bool AppendInstruction(InstId id, std::string* out);
  /// The fields of an HloComputationProto apart from instructions and derived shapes.
  void AppendComputationHeader(CompId id, std::string* out);
  /// The fields of the HloModuleProto apart from computations, ids and schedule.
  void AppendModuleHeader(std::string* out);

 private:
  /// Fields of one instruction: written as they come, put into ascending order at the end.
  struct Segment {
    uint32_t number;
    uint32_t begin, end;  // in scratch_
  };

  // ---- module_writer.cc ----
  void OrderComputations();
  void NumberComputations();
  void NumberInstructions(CompId id);
  bool AppendComputation(CompId id, std::string* out);
  void AppendProgramShape(CompId id, WireWriter* w);
  void AppendHostProgramShape(WireWriter* w);
  void AppendAliases(WireWriter* w);
  void AppendDonors(WireWriter* w);
  void AppendStackFrames(WireWriter* w);
  bool AppendRecoveryTable(WireWriter* w);
  void AppendSchedule(WireWriter* w);
  int64_t FullId(InstId id) const;
  bool Fail(std::string what) {
    if (problem_.empty()) problem_ = std::move(what);
    return false;
  }

  // ---- instruction_writer.cc ----
  const std::string& ShapeBytes(ShapeId id);
  bool CollectFields(InstId id);
  bool AttributeFields(InstId id, const Attr& attr);
  bool TextField(const Attr& attr, uint32_t number, bool (*append)(std::string_view, std::string*));
  bool DomainFields(const Attr& attr);
  void DimensionFields(InstId id);
  void NestedFields(InstId id);
  void PrecisionField(InstId id);
  void WindowField(const Attr& attr);
  void AliasingFields(InstId id);
  bool CollectiveFields(InstId id);
  void CountFields(InstId id);
  void ComparisonFields(InstId id);
  template <typename Write>
  void Field(uint32_t number, Write write);
  void IntField(uint32_t number, int64_t value);

  const Module& module_;
  std::string problem_;
  std::vector<bool> fusion_bodies_;
  std::vector<CompId> file_order_;
  std::vector<int64_t> computation_id_;  // by CompId
  std::vector<uint32_t> local_id_;       // by InstId
  std::unordered_map<uint32_t, std::string> shape_bytes_;
  std::string scratch_;
  std::vector<Segment> segments_;
  std::string instruction_bytes_;
};

}  // namespace hlokit::proto

#endif  // HLOKIT_SRC_PROTO_MODULE_WRITER_H_
