// How is a pickle written? Protocol 4 without frames, with an explicit stack of work, since lists
// may be nested as deeply as the input liked. Every container, array, string and scalar is
// memoised, so shared objects stay shared and the output is never larger than a constant times the
// input.

#include <bit>
#include <unordered_map>

#include "fmt/format.h"
#include "hlokit/pickle.h"

namespace hlokit {
namespace {

class Writer {
 public:
  Writer(const PickleDocument& document, const std::map<PickleId, PickleReplacement>& replacements,
         const ByteSink& sink)
      : document_(document), replacements_(replacements), sink_(sink) {}

  Status Run() {
    Raw("\x80\x04");
    work_.push_back({Task::kValue, document_.root()});
    while (!work_.empty()) {
      const Task task = work_.back();
      work_.pop_back();
      if (task.kind == Task::kValue) {
        TRY(Value(task.id));
      } else if (task.kind == Task::kText) {
        Raw(task.text);
      } else {
        TRY(FinishTuple(task.id));
      }
      if (out_.size() > (64 << 10)) TRY(Flush());
    }
    Raw(".");
    return Flush();
  }

 private:
  struct Task {
    enum Kind : uint8_t { kValue, kText, kTuple } kind;
    PickleId id = 0;
    const char* text = "";
  };

  void Raw(std::string_view bytes) { out_ += bytes; }

  Status Flush() {
    if (!out_.empty()) TRY(sink_(std::as_bytes(std::span(out_.data(), out_.size()))));
    out_.clear();
    return {};
  }

  void Number(uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out_ += static_cast<char>(value >> (8 * i) & 0xFF);
  }

  void Integer(int64_t value) {
    if (value >= 0 && value < 256) {
      Raw("K");
      Number(static_cast<uint64_t>(value), 1);
    } else if (value >= INT32_MIN && value <= INT32_MAX) {
      Raw("J");
      Number(static_cast<uint64_t>(value), 4);
    } else {
      Raw("\x8a\x08");
      Number(static_cast<uint64_t>(value), 8);
    }
  }

  void Sized(std::string_view one_byte, std::string_view four_bytes, std::string_view eight_bytes,
             uint64_t size) {
    const int bytes = size < 256 ? 1 : size <= UINT32_MAX ? 4 : 8;
    Raw(bytes == 1 ? one_byte : bytes == 4 ? four_bytes : eight_bytes);
    Number(size, bytes);
  }

  Status Data(std::string_view bytes) {
    if (bytes.size() < (16 << 10)) {
      Raw(bytes);
      return {};
    }
    TRY(Flush());
    return sink_(std::as_bytes(std::span(bytes.data(), bytes.size())));
  }

  Status String(std::string_view text) {
    Sized("\x8c", "X", "\x8d", text.size());
    return Data(text);
  }

  void Memoise(PickleId id) {
    Raw("\x94");
    memo_.emplace(id, memo_size_++);
  }

  void Get(uint32_t index) {
    Raw(index < 256 ? "h" : "j");
    Number(index, index < 256 ? 1 : 4);
  }

  /// A name of numpy, written out once and fetched from the memo afterwards.
  void Global(const char* module, const char* name) {
    const std::string key = std::string(module) + "." + name;
    if (const auto found = globals_.find(key); found != globals_.end()) return Get(found->second);
    for (std::string_view text : {std::string_view(module), std::string_view(name)}) {
      Sized("\x8c", "X", "\x8d", text.size());
      Raw(text);
    }
    Raw("\x93\x94");
    globals_.emplace(key, memo_size_++);
  }

  Status Value(PickleId id) {
    if (const auto found = memo_.find(id); found != memo_.end()) {
      Get(found->second);
      return {};
    }
    const PickleValue& value = document_.value(id);
    switch (value.kind) {
      case PickleKind::kNone:
        Raw("N");
        return {};
      case PickleKind::kBool:
        Raw(value.integer != 0 ? "\x88" : "\x89");
        return {};
      case PickleKind::kInt:
        Integer(value.integer);
        return {};
      case PickleKind::kFloat:
        Raw("G");
        Number(__builtin_bswap64(std::bit_cast<uint64_t>(value.number)), 8);
        return {};
      case PickleKind::kString:
        TRY(String(value.text));
        Memoise(id);
        return {};
      case PickleKind::kBytes:
        Sized("C", "B", "\x8e", value.text.size());
        TRY(Data(value.text));
        Memoise(id);
        return {};
      case PickleKind::kTuple:
        if (!open_tuples_.emplace(id, true).second) {
          return MakeError(ExitCode::kUnsupported, DiagId::kBadPickleStack,
                           "a tuple contains itself");
        }
        Raw("(");
        work_.push_back({Task::kTuple, id});
        Items(value.items);
        return {};
      case PickleKind::kList:
      case PickleKind::kDict:
        Raw(value.kind == PickleKind::kList ? "]" : "}");
        Memoise(id);
        if (value.items.empty()) return {};
        Raw("(");
        work_.push_back({Task::kText, 0, value.kind == PickleKind::kList ? "e" : "u"});
        Items(value.items);
        return {};
      case PickleKind::kArray:
      case PickleKind::kScalar:
        return Array(id, value);
    }
    return {};
  }

  void Items(const std::vector<PickleId>& items) {
    for (size_t i = items.size(); i-- > 0;) work_.push_back({Task::kValue, items[i]});
  }

  Status FinishTuple(PickleId id) {
    open_tuples_.erase(id);
    Raw("t");
    Memoise(id);
    return {};
  }

  Status Dtype(const ArrayInfo& array) {
    if (array.descr.size() < 2 || array.descr[0] == '[' ||
        array.descr.find('[') != std::string::npos) {
      return MakeError(ExitCode::kUnsupported, DiagId::kUnsupportedDtype,
                       fmt::format("arrays of type '{}' are not written to pickles", array.descr));
    }
    if (const auto found = dtypes_.find(array.descr); found != dtypes_.end()) {
      Get(found->second);
      return {};
    }
    const char kind = array.descr[1];
    const bool flexible = kind == 'V' || kind == 'S' || kind == 'U';
    Global("numpy", "dtype");
    TRY(String(std::string_view(array.descr).substr(1)));
    Raw("\x89\x88\x87R\x94");
    dtypes_.emplace(array.descr, memo_size_++);
    Raw("(K\x03");
    const char order = array.descr[0] == '=' ? '<' : array.descr[0];
    TRY(String(std::string_view(&order, 1)));
    Raw("NNN");
    Integer(flexible ? array.item_bytes : -1);
    Integer(flexible ? (kind == 'U' ? 4 : 1) : -1);
    Integer(kind == 'U' ? 8 : 0);
    Raw("tb");
    return {};
  }

  Status Array(PickleId id, const PickleValue& value) {
    const auto replacement = replacements_.find(id);
    const ArrayInfo& array =
        replacement != replacements_.end() ? replacement->second.array : *value.array;
    const bool scalar = value.kind == PickleKind::kScalar;
    if (scalar) {
      Global("numpy.core.multiarray", "scalar");
      TRY(Dtype(array));
    } else {
      Global("numpy.core.multiarray", "_reconstruct");
      Global("numpy", "ndarray");
      Raw(
          std::string_view("K\0\x85"
                           "C\x01"
                           "b\x87R\x94(K\x01(",
                           13));
      memo_.emplace(id, memo_size_++);
      for (int64_t dim : array.shape) Integer(dim);
      Raw("t");
      TRY(Dtype(array));
      Raw(array.fortran_order ? "\x88" : "\x89");
    }
    Sized("C", "B", "\x8e", static_cast<uint64_t>(array.bytes));
    if (replacement != replacements_.end()) {
      TRY(Flush());
      TRY(replacement->second.write_data(sink_));
    } else {
      TRY(Data(value.text));
    }
    if (scalar) {
      Raw("\x86R");
      Memoise(id);
    } else {
      Raw("tb");
    }
    return {};
  }

  const PickleDocument& document_;
  const std::map<PickleId, PickleReplacement>& replacements_;
  const ByteSink& sink_;
  std::string out_;
  std::vector<Task> work_;
  std::unordered_map<PickleId, uint32_t> memo_;
  std::unordered_map<PickleId, bool> open_tuples_;
  std::map<std::string, uint32_t> globals_;
  std::map<std::string, uint32_t> dtypes_;
  uint32_t memo_size_ = 0;
};

}  // namespace

Status WritePickle(const PickleDocument& document,
                   const std::map<PickleId, PickleReplacement>& replacements,
                   const ByteSink& sink) {
  return Writer(document, replacements, sink).Run();
}

}  // namespace hlokit
