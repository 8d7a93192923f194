// How do arrays in .npy files become inputs, and results .npy files?
#include "src/eval/npy_values.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "hlokit/npy.h"
#include "src/eval/native.h"
#include "src/eval/strided.h"

namespace hlokit::cli {
namespace {

/// numpy's letter for a kind: b pred, i, u, f, c; V for everything that it does not know.
char KindLetter(ElementType type) {
  switch (Info(type).kind) {
    case ElementKind::kPred:
      return 'b';
    case ElementKind::kSigned:
      return 'i';
    case ElementKind::kUnsigned:
      return 'u';
    case ElementKind::kComplex:
      return 'c';
    default:
      return type == ElementType::kF16 || type == ElementType::kF32 || type == ElementType::kF64
                 ? 'f'
                 : 'V';
  }
}

std::string Descr(ElementType type) {
  const int bytes = StorageBytes(type);
  const char letter = KindLetter(type);
  const char order = bytes == 1 || letter == 'V' ? '|' : '<';
  return fmt::format("{}{}{}", order, letter, bytes);
}

std::optional<int64_t> Number(std::string_view text) {
  int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

/// The number of leaves in front of node `preorder` of a shape.
size_t LeavesBefore(const ShapePool& shapes, ShapeId shape, uint32_t preorder) {
  size_t count = 0;
  for (uint32_t i = 0; i < preorder; ++i)
    count += shapes.IsTuple(shapes.Subshape(shape, i)) ? 0 : 1;
  return count;
}

/// The leaf that a name means.
std::optional<size_t> FindLeaf(const Module& module, std::string_view name, size_t leaf_count) {
  if (name.starts_with("#")) {
    const std::optional<int64_t> number = Number(name.substr(1));
    if (!number || static_cast<size_t>(*number) >= leaf_count) return std::nullopt;
    return static_cast<size_t>(*number);
  }
  if (name.starts_with("%")) name.remove_prefix(1);
  size_t first = 0;
  const std::vector<InstId>& parameters = module.computation(module.entry()).parameters;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const ShapeId shape = module.shape(parameters[i]);
    // The longest match: a name may hold dots itself.
    const std::string number = std::to_string(i);
    for (std::string_view own : {module.name(parameters[i]), std::string_view(number)}) {
      if (!name.starts_with(own)) continue;
      std::string_view rest = name.substr(own.size());
      std::vector<int64_t> path;
      bool good = true;
      while (good && !rest.empty()) {
        const size_t end = std::min(rest.find('.', 1), rest.size());
        const std::optional<int64_t> step = Number(rest.substr(1, end - 1));
        good = rest[0] == '.' && step.has_value();
        if (good) path.push_back(*step);
        rest.remove_prefix(end);
      }
      if (!good) continue;
      const std::optional<uint32_t> node = module.shapes().PreorderOf(shape, path);
      if (!node || module.shapes().IsTuple(module.shapes().Subshape(shape, *node))) continue;
      return first + LeavesBefore(module.shapes(), shape, *node);
    }
    first += module.shapes()[shape].leaf_count;
  }
  return std::nullopt;
}

}  // namespace

Status ReadInput(const Module& module, const std::string& assignment, HostLeaves* leaves) {
  const auto refuse = [&](std::string why, std::string help) {
    return MakeError(ExitCode::kUsage, DiagId::kBadEvalInput,
                     fmt::format("--input {}: {}", assignment, why), std::move(help));
  };
  const size_t equals = assignment.find('=');
  if (equals == std::string::npos) return refuse("there is no '='", "write NAME=FILE.npy");
  const std::optional<size_t> leaf =
      FindLeaf(module, std::string_view(assignment).substr(0, equals), leaves->size());
  if (!leaf) {
    return refuse("no parameter has this name or number",
                  "a parameter by name or number, and .i for element i of a tuple");
  }
  HostArray& target = (*leaves)[*leaf];
  ASSIGN_OR_RETURN(const NpyFile file, NpyFile::Open(assignment.substr(equals + 1)));
  const ArrayInfo& info = file.array();
  const std::string wanted = Descr(target.type);
  const bool kind_fits = info.descr == wanted ||
                         info.descr == fmt::format("|V{}", info.item_bytes) ||
                         (KindLetter(target.type) == 'V' && info.descr.size() == 3 &&
                          (info.descr[1] == 'u' || info.descr[1] == 'i'));
  if (info.item_bytes != StorageBytes(target.type) || !kind_fits) {
    return refuse(
        fmt::format("elements are {}, {} needs {}", info.descr, Info(target.type).text, wanted),
        "convert the array first, for instance with numpy's astype");
  }
  if (info.shape != target.sizes) {
    return refuse(fmt::format("the array is [{}], the parameter [{}]", fmt::join(info.shape, ","),
                              fmt::join(target.sizes, ",")),
                  "");
  }
  if (target.bytes.empty()) return {};
  if (!info.fortran_order) {
    std::memcpy(target.bytes.data(), file.data().data(), target.bytes.size());
  } else {
    std::vector<int64_t> strides(target.sizes.size());
    int64_t next = 1;
    for (size_t d = 0; d < strides.size(); ++d) {
      strides[d] = next;
      next *= target.sizes[d];
    }
    eval::MoveBox(StorageBytes(target.type), target.sizes, file.data().data(), strides,
                  target.bytes.data(), eval::RowMajorStrides(target.sizes));
  }
  if (IsIntegral(target.type)) {
    eval::WrapPacked(target.type, target.bytes.data(), target.elements());
  }
  if (target.type == ElementType::kPred) {
    for (std::byte& byte : target.bytes) byte = byte == std::byte{0} ? byte : std::byte{1};
  }
  return {};
}

Status WriteNpy(const std::string& path, const HostArray& array) {
  ArrayInfo info;
  info.descr = Descr(array.type);
  info.item_bytes = StorageBytes(array.type);
  info.shape = array.sizes;
  info.elements = array.elements();
  info.bytes = static_cast<int64_t>(array.bytes.size());
  return WriteNpyFile(path, info, [&](const ByteSink& sink) { return sink(array.bytes); });
}

}  // namespace hlokit::cli
