// Which pickled objects are numpy arrays? The names, calls and states by which numpy 1 and 2 spell
// arrays, element types and scalars. Each name is a constant here; nothing is ever looked up or
// called.

#include <algorithm>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "src/tensor/permute_plan.h"
#include "src/tensor/pickle_reader.h"
#include "src/tensor/printable.h"

namespace hlokit {
namespace {

struct KnownGlobal {
  std::string_view module;
  std::string_view name;
  PickleGlobal global;
};

constexpr KnownGlobal kKnown[] = {
    {"numpy.core.multiarray", "_reconstruct", PickleGlobal::kReconstruct},
    {"numpy._core.multiarray", "_reconstruct", PickleGlobal::kReconstruct},
    {"numpy", "ndarray", PickleGlobal::kNdarray},
    {"numpy", "dtype", PickleGlobal::kDtype},
    {"numpy.core.multiarray", "scalar", PickleGlobal::kScalar},
    {"numpy._core.multiarray", "scalar", PickleGlobal::kScalar},
    {"numpy.core.numeric", "_frombuffer", PickleGlobal::kFrombuffer},
    {"numpy._core.numeric", "_frombuffer", PickleGlobal::kFrombuffer},
    {"_codecs", "encode", PickleGlobal::kEncode},
    {"__builtin__", "bytes", PickleGlobal::kBytes},
    {"builtins", "bytes", PickleGlobal::kBytes},
};

using internal::Printable;

constexpr size_t kMaxArguments = 16;
constexpr size_t kMaxRank = 64;  // what numpy 2 allows

}  // namespace

Status PickleReader::Global(std::string_view module, std::string_view name) {
  for (const KnownGlobal& known : kKnown) {
    if (known.module == module && known.name == name)
      return PushHelper({.kind = Helper::kGlobal, .global = known.global});
  }
  std::string help =
      "only numpy arrays, dicts, lists, tuples, strings and numbers are read; nothing is ever "
      "imported";
  if (module == "ml_dtypes")
    help =
        "store such arrays as raw bytes: array.view('V2') for bfloat16, array.view('V1') for fp8";
  if (module == "collections" && name == "OrderedDict") help = "convert it first: dict(value)";
  return Fail(DiagId::kBadPickleGlobal,
              fmt::format("the pickle asks for {}.{}, which is refused", Printable(module),
                          Printable(name)),
              std::move(help));
}

Status PickleReader::Reduce() {
  ASSIGN_OR_RETURN(const PickleId arguments_id,
                   PopKind(PickleKind::kTuple, "the arguments of a call"));
  ASSIGN_OR_RETURN(const PickleId callee, Pop());
  const Helper* helper = HelperOf(callee);
  if (helper == nullptr || helper->kind != Helper::kGlobal)
    return Malformed("something is called that is no function");
  // The call is made from a copy, since making objects moves the others; so it must be small.
  if (document_.value(arguments_id).items.size() > kMaxArguments)
    return Malformed("a call has too many arguments");
  const PickleValue arguments = document_.value(arguments_id);
  switch (helper->global) {
    case PickleGlobal::kReconstruct: {
      const Helper* type = arguments.items.size() == 3 ? HelperOf(arguments.items[0]) : nullptr;
      if (type == nullptr || type->kind != Helper::kGlobal ||
          type->global != PickleGlobal::kNdarray) {
        return Malformed("_reconstruct makes something else than a numpy.ndarray");
      }
      return PushHelper({.kind = Helper::kUnbuiltArray});
    }
    case PickleGlobal::kDtype:
      return ReduceDtype(arguments);
    case PickleGlobal::kScalar:
      return ReduceScalar(arguments);
    case PickleGlobal::kFrombuffer:
      return ReduceFrombuffer(arguments);
    case PickleGlobal::kEncode:
      return ReduceEncode(arguments);
    case PickleGlobal::kBytes:
      if (!arguments.items.empty()) return Malformed("bytes() is called with arguments");
      return Push({.kind = PickleKind::kBytes});
    case PickleGlobal::kNdarray:
      break;
  }
  return Malformed("numpy.ndarray is called");
}

/// Protocol 2 has no bytes: Python writes _codecs.encode(text, 'latin1') with one character per
/// byte.
Status PickleReader::ReduceEncode(const PickleValue& arguments) {
  if (arguments.items.size() != 2 || !Is(arguments.items[0], PickleKind::kString) ||
      !Is(arguments.items[1], PickleKind::kString) ||
      document_.value(arguments.items[1]).text != "latin1") {
    return Malformed("_codecs.encode is called with something else than a text and 'latin1'");
  }
  const std::string_view text = document_.value(arguments.items[0]).text;
  decoded_ += text.size();
  if (decoded_ > bytes_.size())
    return Fail(DiagId::kPickleTooLarge, "the same text is turned into bytes again and again");
  auto bytes = std::make_shared<std::string>();
  bytes->reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const uint8_t c = static_cast<uint8_t>(text[i]);
    if (c < 0x80) {
      *bytes += static_cast<char>(c);
    } else if ((c == 0xC2 || c == 0xC3) && i + 1 < text.size() &&
               (static_cast<uint8_t>(text[i + 1]) & 0xC0) == 0x80) {
      *bytes += static_cast<char>((c & 3) << 6 | (static_cast<uint8_t>(text[++i]) & 0x3F));
    } else {
      return Malformed("a text that should hold bytes holds other characters");
    }
  }
  const std::string_view view = *bytes;
  document_.owned_.push_back(std::move(bytes));
  return Push({.kind = PickleKind::kBytes, .text = view});
}

Status PickleReader::ReduceDtype(const PickleValue& arguments) {
  if (arguments.items.empty()) return Malformed("numpy.dtype is called without a type");
  const PickleId type_id = arguments.items[0];
  if (!Is(type_id, PickleKind::kString))
    return Malformed("numpy.dtype is called with something else than a name");
  const std::string_view type = document_.value(type_id).text;
  if (!type.empty() && (type[0] == 'M' || type[0] == 'm')) {
    return MakeError(
        ExitCode::kUnsupported, DiagId::kUnsupportedDtype,
        fmt::format("arrays of dates ('{}') are not read from pickles", Printable(type)),
        "store them as integers: array.view('i8')");
  }
  ASSIGN_OR_RETURN(const int64_t bytes, ItemBytesOfDescr(type));
  // One-byte types and byte strings have no order; BUILD says the order of the others.
  const bool plain = bytes == 1 || type[0] == 'V' || type[0] == 'S';
  return PushHelper({.kind = Helper::kDtype,
                     .type = std::string(type),
                     .descr = (plain ? "|" : "<") + std::string(type)});
}

Status PickleReader::Build() {
  ASSIGN_OR_RETURN(const PickleId state_id, PopKind(PickleKind::kTuple, "a state"));
  if (stack_.empty() || stack_.back() == kMark) return Malformed("there is nothing to build");
  const PickleId target = stack_.back();
  const auto helper = helpers_.find(target);
  if (document_.value(state_id).items.size() > kMaxArguments)
    return Malformed("a state has too many items");
  const PickleValue state = document_.value(state_id);
  if (helper != helpers_.end() && helper->second.kind == Helper::kDtype)
    return BuildDtype(helper->second, state);
  if (helper != helpers_.end() && helper->second.kind == Helper::kUnbuiltArray)
    return BuildArray(target, state);
  return Malformed("BUILD changes something that is neither an array nor a type");
}

Status PickleReader::BuildDtype(Helper& dtype, const PickleValue& state) {
  // (version, byte order, subdtype, names, fields, item size, alignment, flags[, metadata])
  if (state.items.size() < 8 || !Is(state.items[0], PickleKind::kInt) ||
      !Is(state.items[1], PickleKind::kString)) {
    return Malformed("the state of a numpy.dtype has an unknown form");
  }
  for (size_t i = 2; i <= 4; ++i) {
    if (!Is(state.items[i], PickleKind::kNone)) {
      return MakeError(ExitCode::kUnsupported, DiagId::kUnsupportedDtype,
                       "structured arrays are not read from pickles",
                       "store every field as an array of its own");
    }
  }
  const std::string_view order = document_.value(state.items[1]).text;
  if (order != "<" && order != ">" && order != "|" && order != "=")
    return Malformed("a byte order is unknown");
  const bool ordered = dtype.descr[0] != '|';
  if (ordered && order == ">") dtype.descr[0] = '>';
  return {};
}

Result<std::vector<int64_t>> PickleReader::Shape(PickleId id) {
  if (!Is(id, PickleKind::kTuple)) return Malformed("the shape of an array is no tuple");
  if (document_.value(id).items.size() > kMaxRank) {
    return Fail(DiagId::kBadPickleArray,
                fmt::format("an array has more than {} dimensions", kMaxRank));
  }
  std::vector<int64_t> shape;
  for (PickleId item : document_.value(id).items) {
    if (!Is(item, PickleKind::kInt) || document_.value(item).integer < 0) {
      return Malformed("the shape of an array holds something else than sizes");
    }
    shape.push_back(document_.value(item).integer);
  }
  return shape;
}

Status PickleReader::SetArray(PickleValue& value, PickleKind kind, const std::string& descr,
                              std::vector<int64_t> shape, bool fortran_order,
                              std::string_view data) {
  ArrayInfo array{.descr = descr, .fortran_order = fortran_order, .shape = std::move(shape)};
  ASSIGN_OR_RETURN(array.item_bytes, ItemBytesOfDescr(descr));
  const Result<int64_t> elements = internal::CheckedProduct(array.shape, 1);
  const Result<int64_t> bytes =
      internal::CheckedProduct(array.shape, std::max<int64_t>(1, array.item_bytes));
  if (!elements || !bytes)
    return Fail(DiagId::kBadPickleArray, "the shape of an array is too large to address");
  array.elements = *elements;
  array.bytes = array.item_bytes == 0 ? 0 : *bytes;
  if (static_cast<uint64_t>(array.bytes) != data.size()) {
    return Fail(
        DiagId::kBadPickleArray,
        fmt::format("an array of shape ({}) and type '{}' needs {} bytes, the pickle has {}",
                    fmt::join(array.shape, ", "), descr, array.bytes, data.size()));
  }
  value.kind = kind;
  value.text = data;
  value.array = std::make_shared<const ArrayInfo>(std::move(array));
  return {};
}

Status PickleReader::BuildArray(PickleId id, const PickleValue& state) {
  // (version, shape, dtype, is_fortran, data)
  if (state.items.size() != 5) return Malformed("the state of an array has an unknown form");
  const Helper* dtype = HelperOf(state.items[2]);
  if (dtype == nullptr || dtype->kind != Helper::kDtype)
    return Malformed("an array has no numpy.dtype");
  if (!Is(state.items[3], PickleKind::kBool)) return Malformed("the order of an array is no bool");
  if (Is(state.items[4], PickleKind::kList)) {
    return MakeError(ExitCode::kUnsupported, DiagId::kUnsupportedDtype,
                     "object arrays are not read from pickles");
  }
  if (!Is(state.items[4], PickleKind::kBytes))
    return Malformed("the elements of an array are no bytes");
  ASSIGN_OR_RETURN(std::vector<int64_t> shape, Shape(state.items[1]));
  TRY(SetArray(document_.values_[id], PickleKind::kArray, dtype->descr, std::move(shape),
               document_.value(state.items[3]).integer != 0, document_.value(state.items[4]).text));
  helpers_.erase(id);
  return {};
}

/// Protocol 5: _frombuffer(bytes, dtype, shape, 'C' or 'F').
Status PickleReader::ReduceFrombuffer(const PickleValue& arguments) {
  const Helper* dtype = arguments.items.size() == 4 ? HelperOf(arguments.items[1]) : nullptr;
  if (dtype == nullptr || dtype->kind != Helper::kDtype ||
      !Is(arguments.items[0], PickleKind::kBytes) || !Is(arguments.items[3], PickleKind::kString)) {
    return Malformed("_frombuffer is called with unknown arguments");
  }
  const std::string_view order = document_.value(arguments.items[3]).text;
  if (order != "C" && order != "F") return Malformed("the order of an array is neither C nor F");
  ASSIGN_OR_RETURN(std::vector<int64_t> shape, Shape(arguments.items[2]));
  PickleValue value;
  TRY(SetArray(value, PickleKind::kArray, dtype->descr, std::move(shape), order == "F",
               document_.value(arguments.items[0]).text));
  return Push(std::move(value));
}

Status PickleReader::ReduceScalar(const PickleValue& arguments) {
  const Helper* dtype = arguments.items.size() == 2 ? HelperOf(arguments.items[0]) : nullptr;
  if (dtype == nullptr || dtype->kind != Helper::kDtype ||
      !Is(arguments.items[1], PickleKind::kBytes)) {
    return Malformed("a numpy scalar has unknown arguments");
  }
  PickleValue value;
  TRY(SetArray(value, PickleKind::kScalar, dtype->descr, {}, false,
               document_.value(arguments.items[1]).text));
  return Push(std::move(value));
}

}  // namespace hlokit
