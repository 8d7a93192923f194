// What is in a pickle? The stack machine: literals, containers, memo. The numpy objects are in
// pickle_numpy.cc. Memory is bounded by the size of the input: every opcode makes at most one
// object, and elements are views.

#include "src/tensor/pickle_reader.h"

#include <bit>
#include <cstring>

#include "fmt/format.h"
#include "src/tensor/output_file.h"

namespace hlokit {
namespace {

struct Opcode {
  const char* name = nullptr;
  bool accepted = false;
};

constexpr Opcode OpcodeOf(uint8_t byte) {
  switch (static_cast<char>(byte)) {
#define PICKLE_OPCODE(byte, name, accepted) \
  case byte:                                \
    return {#name, accepted != 0};
#include "src/tensor/pickle_opcodes.def"
    default:
      return {};
  }
}

}  // namespace

std::unexpected<Error> PickleReader::Fail(DiagId id, std::string message, std::string help) {
  return MakeError(ExitCode::kCannotParse, id,
                   fmt::format("{} (byte {} of the pickle)", message, opcode_at_), std::move(help));
}

std::unexpected<Error> PickleReader::Malformed(std::string what) {
  return Fail(DiagId::kBadPickleStack, "the pickle is malformed: " + what);
}

Result<std::string_view> PickleReader::Take(uint64_t count) {
  if (count > bytes_.size() - at_) {
    return Fail(DiagId::kTruncatedPickle,
                fmt::format("the pickle ends early: {} bytes are needed, {} are left", count,
                            bytes_.size() - at_),
                "the file was cut short: save or copy it again");
  }
  const std::string_view taken = bytes_.substr(at_, count);
  at_ += count;
  return taken;
}

Result<uint64_t> PickleReader::TakeNumber(int bytes) {
  ASSIGN_OR_RETURN(const std::string_view raw, Take(static_cast<uint64_t>(bytes)));
  uint64_t number = 0;
  for (int i = 0; i < bytes; ++i)
    number |= static_cast<uint64_t>(static_cast<uint8_t>(raw[i])) << (8 * i);
  return number;
}

Result<PickleId> PickleReader::Pop() {
  if (stack_.empty() || stack_.back() == kMark) return Malformed("the stack is empty");
  const PickleId id = stack_.back();
  stack_.pop_back();
  return id;
}

bool PickleReader::Is(PickleId id, PickleKind kind) const {
  return document_.value(id).kind == kind && !helpers_.contains(id);
}

Result<PickleId> PickleReader::PopKind(PickleKind kind, std::string_view what) {
  ASSIGN_OR_RETURN(const PickleId id, Pop());
  if (!Is(id, kind)) return Malformed(fmt::format("expected {}", what));
  return id;
}

Result<std::vector<PickleId>> PickleReader::PopToMark() {
  size_t begin = stack_.size();
  while (begin > 0 && stack_[begin - 1] != kMark) --begin;
  if (begin == 0) return Malformed("there is no mark");
  std::vector<PickleId> items(stack_.begin() + static_cast<int64_t>(begin), stack_.end());
  stack_.resize(begin - 1);
  return items;
}

Status PickleReader::Push(PickleValue value) {
  if (document_.values_.size() >= limits_.max_objects) {
    return Fail(DiagId::kPickleTooLarge,
                fmt::format("the pickle holds more than {} objects", limits_.max_objects),
                "store large data in numpy arrays, not in lists");
  }
  stack_.push_back(document_.Add(std::move(value)));
  return {};
}

Status PickleReader::PushHelper(Helper helper) {
  TRY(Push({}));
  helpers_.emplace(stack_.back(), std::move(helper));
  return {};
}

const PickleReader::Helper* PickleReader::HelperOf(PickleId id) const {
  const auto found = helpers_.find(id);
  return found == helpers_.end() ? nullptr : &found->second;
}

Result<PickleDocument> PickleReader::Run() {
  if (bytes_.size() < 2 || bytes_[0] != '\x80') {
    return Fail(DiagId::kBadPickleStack, "this is not a pickle of protocol 2 or later",
                "write it with pickle.dump(value, file, protocol=4)");
  }
  const int protocol = static_cast<uint8_t>(bytes_[1]);
  if (protocol < 2 || protocol > 5) {
    return Fail(DiagId::kBadPickleStack,
                fmt::format("pickle protocol {} is not supported", protocol),
                "write it with pickle.dump(value, file, protocol=4)");
  }
  while (true) {
    opcode_at_ = at_;
    ASSIGN_OR_RETURN(const uint64_t opcode, TakeNumber(1));
    if (opcode == '.') break;
    TRY(Step(static_cast<uint8_t>(opcode)));
  }
  ASSIGN_OR_RETURN(document_.root_, Pop());
  if (!stack_.empty()) return Malformed("objects are left over at the end");
  if (at_ != bytes_.size())
    return Malformed(fmt::format("{} bytes follow its end", bytes_.size() - at_));
  // Nothing half-built may be reachable from the result.
  std::vector<PickleId> todo = {document_.root_};
  std::vector<bool> seen(document_.values_.size(), false);
  while (!todo.empty()) {
    const PickleId id = todo.back();
    todo.pop_back();
    if (seen[id]) continue;
    seen[id] = true;
    if (helpers_.contains(id)) return Malformed("the result holds something that is no data");
    todo.insert(todo.end(), document_.value(id).items.begin(), document_.value(id).items.end());
  }
  return std::move(document_);
}

Status PickleReader::Step(uint8_t opcode) {
  const Opcode known = OpcodeOf(opcode);
  if (known.name == nullptr) {
    return Fail(DiagId::kBadPickleOpcode, fmt::format("byte 0x{:02x} is no pickle opcode", opcode));
  }
  if (!known.accepted) {
    return Fail(DiagId::kBadPickleOpcode,
                fmt::format("the pickle opcode {} is refused", known.name),
                "only numpy arrays, dicts, lists, tuples, strings and numbers are read; nothing is "
                "ever executed");
  }
  switch (static_cast<char>(opcode)) {
    case '\x80': {  // PROTO: only at the start
      if (opcode_at_ != 0) return Malformed("a second PROTO");
      return TakeNumber(1) ? Status() : Malformed("no protocol number");
    }
    case '\x95':  // FRAME: a hint for buffering
      return TakeNumber(8) ? Status() : Malformed("a frame without a length");
    case 'R':
      return Reduce();
    case 'b':
      return Build();
    case 'c': {  // GLOBAL: two lines
      const size_t first = bytes_.find('\n', at_);
      const size_t second = first == std::string_view::npos ? first : bytes_.find('\n', first + 1);
      if (second == std::string_view::npos) return Malformed("a GLOBAL without an end");
      const std::string_view module = bytes_.substr(at_, first - at_);
      const std::string_view name = bytes_.substr(first + 1, second - first - 1);
      at_ = second + 1;
      return Global(module, name);
    }
    case '\x93': {  // STACK_GLOBAL
      ASSIGN_OR_RETURN(const PickleId name, PopKind(PickleKind::kString, "a name"));
      ASSIGN_OR_RETURN(const PickleId module, PopKind(PickleKind::kString, "a module"));
      return Global(document_.value(module).text, document_.value(name).text);
    }
    case 'h':
    case 'j':
    case 'q':
    case 'r':
    case '\x94':
      return Memo(opcode);
    case '(':
      stack_.push_back(kMark);
      return {};
    case 'a':
    case 'e':
    case 's':
    case 'u':
    case 't':
    case 'l':
    case 'd':
    case '\x85':
    case '\x86':
    case '\x87':
      return Collect(opcode);
    default:
      return PushLiteral(opcode);
  }
}

Status PickleReader::Memo(uint8_t opcode) {
  if (opcode == 'h' || opcode == 'j') {
    ASSIGN_OR_RETURN(const uint64_t key, TakeNumber(opcode == 'h' ? 1 : 4));
    const auto found = memo_.find(key);
    if (found == memo_.end())
      return Malformed(fmt::format("nothing was stored under memo {}", key));
    stack_.push_back(found->second);
    return {};
  }
  uint64_t key = memo_.size();
  if (opcode != 0x94) {
    ASSIGN_OR_RETURN(key, TakeNumber(opcode == 'q' ? 1 : 4));
  }
  if (stack_.empty() || stack_.back() == kMark) return Malformed("nothing to store in the memo");
  memo_[key] = stack_.back();
  return {};
}

Status PickleReader::PushLiteral(uint8_t opcode) {
  const auto integer = [](int64_t value) {
    return PickleValue{.kind = PickleKind::kInt, .integer = value};
  };
  const auto text = [&](PickleKind kind, int length_bytes) -> Status {
    ASSIGN_OR_RETURN(const uint64_t length, TakeNumber(length_bytes));
    ASSIGN_OR_RETURN(const std::string_view bytes, Take(length));
    return Push({.kind = kind, .text = bytes});
  };
  switch (static_cast<char>(opcode)) {
    case 'N':
      return Push({});
    case '\x88':
    case '\x89':
      return Push({.kind = PickleKind::kBool, .integer = opcode == 0x88});
    case 'K':
    case 'M': {
      ASSIGN_OR_RETURN(const uint64_t value, TakeNumber(opcode == 'K' ? 1 : 2));
      return Push(integer(static_cast<int64_t>(value)));
    }
    case 'J': {
      ASSIGN_OR_RETURN(const uint64_t value, TakeNumber(4));
      return Push(integer(static_cast<int32_t>(value)));
    }
    case '\x8a': {  // LONG1: little-endian two's complement of any length
      ASSIGN_OR_RETURN(const uint64_t length, TakeNumber(1));
      if (length > 8)
        return Fail(DiagId::kBadPickleOpcode, "an integer of more than 64 bits is refused");
      ASSIGN_OR_RETURN(uint64_t value, TakeNumber(static_cast<int>(length)));
      if (length > 0 && length < 8 && (value >> (8 * length - 1)) != 0)
        value |= ~uint64_t{0} << (8 * length);
      return Push(integer(static_cast<int64_t>(value)));
    }
    case 'G': {
      ASSIGN_OR_RETURN(const uint64_t bits, TakeNumber(8));
      return Push(
          {.kind = PickleKind::kFloat, .number = std::bit_cast<double>(__builtin_bswap64(bits))});
    }
    case 'X':
      return text(PickleKind::kString, 4);
    case '\x8c':
      return text(PickleKind::kString, 1);
    case '\x8d':
      return text(PickleKind::kString, 8);
    case 'C':
      return text(PickleKind::kBytes, 1);
    case 'B':
      return text(PickleKind::kBytes, 4);
    case '\x8e':
    case '\x96':
      return text(PickleKind::kBytes, 8);
    case '}':
      return Push({.kind = PickleKind::kDict});
    case ']':
      return Push({.kind = PickleKind::kList});
    default:  // EMPTY_TUPLE
      return Push({.kind = PickleKind::kTuple});
  }
}

Status PickleReader::Collect(uint8_t opcode) {
  if (opcode >= 0x85 && opcode <= 0x87) {
    PickleValue tuple{.kind = PickleKind::kTuple};
    tuple.items.resize(opcode - 0x84);
    for (size_t i = tuple.items.size(); i-- > 0;) {
      ASSIGN_OR_RETURN(tuple.items[i], Pop());
    }
    return Push(std::move(tuple));
  }
  std::vector<PickleId> items;
  if (opcode == 'a' || opcode == 's') {
    items.resize(opcode == 'a' ? 1 : 2);
    for (size_t i = items.size(); i-- > 0;) {
      ASSIGN_OR_RETURN(items[i], Pop());
    }
  } else {
    ASSIGN_OR_RETURN(items, PopToMark());
  }
  const bool dict = opcode == 's' || opcode == 'u' || opcode == 'd';
  if (dict && items.size() % 2 != 0) return Malformed("a dict has a key without a value");
  if (opcode == 't' || opcode == 'l' || opcode == 'd') {
    const PickleKind kind = opcode == 't' ? PickleKind::kTuple
                            : dict        ? PickleKind::kDict
                                          : PickleKind::kList;
    return Push({.kind = kind, .items = std::move(items)});
  }
  const PickleKind kind = dict ? PickleKind::kDict : PickleKind::kList;
  if (stack_.empty() || stack_.back() == kMark || !Is(stack_.back(), kind)) {
    return Malformed(dict ? "there is no dict to fill" : "there is no list to fill");
  }
  std::vector<PickleId>& into = document_.values_[stack_.back()].items;
  into.insert(into.end(), items.begin(), items.end());
  return {};
}

PickleId PickleDocument::Add(PickleValue value) {
  values_.push_back(std::move(value));
  return static_cast<PickleId>(values_.size() - 1);
}

const PickleId* PickleDocument::Find(PickleId dict, std::string_view key) const {
  const std::vector<PickleId>& items = values_[dict].items;
  // Python keeps the last value that was set for a key.
  for (size_t i = items.size(); i >= 2; i -= 2) {
    const PickleValue& name = values_[items[i - 2]];
    if (name.kind == PickleKind::kString && name.text == key) return &items[i - 1];
  }
  return nullptr;
}

Result<PickleDocument> PickleDocument::Parse(std::string_view bytes, const PickleLimits& limits) {
  return PickleReader(bytes, limits).Run();
}

Result<PickleDocument> PickleDocument::Open(const std::string& path, const PickleLimits& limits) {
  ASSIGN_OR_RETURN(internal::MappedFile mapping, internal::MappedFile::Open(path));
  auto kept = std::make_shared<internal::MappedFile>(std::move(mapping));
  ASSIGN_OR_RETURN(PickleDocument document, Parse(kept->bytes(), limits));
  document.owned_.push_back(std::move(kept));
  return document;
}

}  // namespace hlokit
