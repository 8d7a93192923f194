// What is in a .npy file, and how is one written? Format versions 1 to 3 as numpy documents them.

#include "hlokit/npy.h"

#include <algorithm>
#include <cstring>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "src/tensor/output_file.h"
#include "src/tensor/permute_plan.h"
#include "src/tensor/printable.h"
#include "src/tensor/python_literal.h"

namespace hlokit {
namespace {

using internal::Literal;
using internal::LiteralKind;
using internal::LiteralTree;

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMaxHeaderBytes = size_t{16} << 20;

std::unexpected<Error> Bad(DiagId id, std::string message, std::string help = "") {
  return MakeError(ExitCode::kCannotParse, id, std::move(message), std::move(help));
}

std::unexpected<Error> BadHeader(std::string what) {
  return Bad(DiagId::kBadNpyHeader, "the .npy header is malformed: " + what,
             "the header must be a dict with the keys 'descr', 'fortran_order' and 'shape'");
}

/// Sum over the fields of a structured type; nested lists are walked with an explicit stack.
Result<int64_t> ItemBytesOfFields(const LiteralTree& tree, int32_t list) {
  struct Item {
    int32_t node;
    int64_t count;
  };
  std::vector<Item> stack = {{list, 1}};
  int64_t total = 0;
  while (!stack.empty()) {
    const Item item = stack.back();
    stack.pop_back();
    for (int32_t f = tree.nodes[item.node].first; f >= 0; f = tree.nodes[f].next) {
      const Literal& field = tree.nodes[f];
      if (field.kind != LiteralKind::kTuple || field.children < 2 || field.children > 3) {
        return BadHeader("a field of 'descr' is not (name, type) or (name, type, shape)");
      }
      const int32_t type = tree.nodes[field.first].next;
      int64_t count = item.count;
      if (field.children == 3) {
        const int32_t shape = tree.nodes[type].next;
        if (tree.nodes[shape].kind != LiteralKind::kTuple)
          return BadHeader("the shape of a field is no tuple");
        for (int32_t d = tree.nodes[shape].first; d >= 0; d = tree.nodes[d].next) {
          const Literal& dim = tree.nodes[d];
          if (dim.kind != LiteralKind::kInt || dim.number < 0 ||
              __builtin_mul_overflow(count, dim.number, &count)) {
            return BadHeader("the shape of a field is not a tuple of sizes");
          }
        }
      }
      if (tree.nodes[type].kind == LiteralKind::kList) {
        stack.push_back({type, count});
        continue;
      }
      if (tree.nodes[type].kind != LiteralKind::kString)
        return BadHeader("the type of a field is no string");
      ASSIGN_OR_RETURN(int64_t bytes, ItemBytesOfDescr(tree.nodes[type].text));
      if (__builtin_mul_overflow(bytes, count, &bytes) ||
          __builtin_add_overflow(total, bytes, &total)) {
        return BadHeader("an element is too large");
      }
    }
  }
  return total;
}

Result<std::vector<int64_t>> ShapeOf(const LiteralTree& tree, int32_t node) {
  if (tree.nodes[node].kind != LiteralKind::kTuple) return BadHeader("'shape' is not a tuple");
  std::vector<int64_t> shape;
  for (int32_t d = tree.nodes[node].first; d >= 0; d = tree.nodes[d].next) {
    if (tree.nodes[d].kind != LiteralKind::kInt || tree.nodes[d].number < 0) {
      return BadHeader("'shape' holds something else than sizes");
    }
    shape.push_back(tree.nodes[d].number);
  }
  return shape;
}

Result<ArrayInfo> ParseDict(std::string_view text) {
  const LiteralTree tree = internal::ParseLiteral(text);
  if (!tree.error.empty()) {
    return BadHeader(fmt::format("{} (byte {} of the dict)", tree.error, tree.error_at));
  }
  if (tree.nodes[0].kind != LiteralKind::kDict) return BadHeader("it is not a dict");
  int32_t descr = -1, order = -1, shape = -1;
  for (int32_t key = tree.nodes[0].first; key >= 0; key = tree.nodes[tree.nodes[key].next].next) {
    const int32_t value = tree.nodes[key].next;
    const std::string& name = tree.nodes[key].text;
    int32_t* slot = name == "descr"           ? &descr
                    : name == "fortran_order" ? &order
                    : name == "shape"         ? &shape
                                              : nullptr;
    if (tree.nodes[key].kind != LiteralKind::kString || slot == nullptr) {
      return BadHeader(fmt::format("unknown key '{}'", internal::Printable(name)));
    }
    if (*slot >= 0) return BadHeader(fmt::format("the key '{}' stands twice", name));
    *slot = value;
  }
  if (descr < 0 || order < 0 || shape < 0) return BadHeader("a key is missing");
  if (tree.nodes[order].kind != LiteralKind::kBool)
    return BadHeader("'fortran_order' is neither True nor False");
  ArrayInfo array;
  array.fortran_order = tree.nodes[order].number != 0;
  ASSIGN_OR_RETURN(array.shape, ShapeOf(tree, shape));
  const Literal& type = tree.nodes[descr];
  if (type.kind == LiteralKind::kString) {
    array.descr = type.text;
    ASSIGN_OR_RETURN(array.item_bytes, ItemBytesOfDescr(type.text));
  } else if (type.kind == LiteralKind::kList) {
    array.descr = std::string(text.substr(type.begin, type.end - type.begin));
    ASSIGN_OR_RETURN(array.item_bytes, ItemBytesOfFields(tree, descr));
  } else {
    return BadHeader("'descr' is neither a string nor a list of fields");
  }
  Result<int64_t> elements = internal::CheckedProduct(array.shape, 1);
  Result<int64_t> bytes =
      internal::CheckedProduct(array.shape, std::max<int64_t>(1, array.item_bytes));
  if (!elements || !bytes) return BadHeader("the shape is too large to address");
  array.elements = *elements;
  array.bytes = array.item_bytes == 0 ? 0 : *bytes;
  return array;
}

/// Versions 1 and 2 spell field names in latin-1; in memory they are UTF-8, as in version 3.
std::string Latin1ToUtf8(std::string_view text) {
  std::string utf8;
  for (unsigned char c : text) {
    if (c < 0x80) {
      utf8 += static_cast<char>(c);
    } else {
      utf8 += static_cast<char>(0xC0 | c >> 6);
      utf8 += static_cast<char>(0x80 | (c & 0x3F));
    }
  }
  return utf8;
}

}  // namespace

Result<int64_t> ItemBytesOfDescr(std::string_view descr) {
  const auto refuse = [&](std::string help) {
    return MakeError(ExitCode::kUnsupported, DiagId::kUnsupportedDtype,
                     fmt::format("element type '{}' is not supported", internal::Printable(descr)),
                     std::move(help));
  };
  std::string_view rest = descr;
  if (!rest.empty() && std::string_view("<>|=").find(rest[0]) != std::string_view::npos)
    rest.remove_prefix(1);
  if (rest.empty()) return refuse("a type looks like '<f4' or '|V2'");
  const char kind = rest[0];
  rest.remove_prefix(1);
  if (kind == 'O')
    return refuse("object arrays are pickles; convert them to a numeric type with astype()");
  int64_t count = 0;
  size_t digits = 0;
  for (; digits < rest.size() && digits < 12 && rest[digits] >= '0' && rest[digits] <= '9';
       ++digits) {
    count = count * 10 + (rest[digits] - '0');
  }
  rest.remove_prefix(digits);
  if (digits == 0) return refuse("the size is missing, as in '<f4'");
  const bool date = kind == 'M' || kind == 'm';
  if (date && rest.size() > 2 && rest.front() == '[' && rest.back() == ']' &&
      rest.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/",
                             1) == rest.size() - 1) {
    rest = "";
  }
  if (!rest.empty()) return refuse("a type looks like '<f4' or '|V2'");
  constexpr int64_t kLargest = int64_t{1} << 31;
  const auto one_of = [&](std::initializer_list<int64_t> sizes) {
    return std::find(sizes.begin(), sizes.end(), count) != sizes.end();
  };
  const bool good =
      (kind == 'b' && count == 1) || ((kind == 'i' || kind == 'u') && one_of({1, 2, 4, 8})) ||
      (kind == 'f' && one_of({1, 2, 4, 8, 12, 16})) || (kind == 'c' && one_of({8, 16, 24, 32})) ||
      (date && count == 8) ||
      ((kind == 'S' || kind == 'a' || kind == 'V' || kind == 'U') && count < kLargest);
  if (!good) return refuse("numpy has no such type");
  return kind == 'U' ? count * 4 : count;
}

Result<NpyHeader> ParseNpyHeader(std::string_view bytes, uint64_t file_bytes) {
  if (bytes.size() < 10 || bytes.substr(0, kMagic.size()) != kMagic) {
    const bool zip = bytes.substr(0, 4) == std::string_view("PK\x03\x04", 4);
    return Bad(DiagId::kBadNpyMagic, "this is not a .npy file: it does not start with \\x93NUMPY",
               zip ? "it looks like an .npz archive: unpack it with unzip"
                   : "save arrays with numpy.save");
  }
  NpyHeader header;
  header.major_version = static_cast<unsigned char>(bytes[6]);
  if (header.major_version < 1 || header.major_version > 3) {
    return Bad(DiagId::kBadNpyVersion,
               fmt::format(".npy version {} is unknown", header.major_version),
               "versions 1, 2 and 3 exist");
  }
  const size_t length_bytes = header.major_version == 1 ? 2 : 4;
  if (bytes.size() < 8 + length_bytes) return BadHeader("the file ends within it");
  size_t length = 0;
  for (size_t i = 0; i < length_bytes; ++i)
    length |= static_cast<size_t>(static_cast<unsigned char>(bytes[8 + i])) << (8 * i);
  const size_t begin = 8 + length_bytes;
  if (length > kMaxHeaderBytes)
    return BadHeader(fmt::format("it claims to be {} bytes long", length));
  if (length > bytes.size() - begin) {
    return BadHeader(fmt::format("it claims {} bytes, but the file ends after {}", length,
                                 bytes.size() - begin));
  }
  ASSIGN_OR_RETURN(header.array, ParseDict(bytes.substr(begin, length)));
  if (header.major_version < 3) header.array.descr = Latin1ToUtf8(header.array.descr);
  header.data_offset = static_cast<int64_t>(begin + length);
  const uint64_t have = file_bytes - static_cast<uint64_t>(header.data_offset);
  const uint64_t need = static_cast<uint64_t>(header.array.bytes);
  const std::string what =
      fmt::format("the header promises {} bytes ({} elements of '{}'), the file holds {}", need,
                  header.array.elements, internal::Printable(header.array.descr), have);
  if (have < need)
    return Bad(DiagId::kTruncatedNpy, what, "the file was cut short: save or copy it again");
  if (have > need) {
    return Bad(DiagId::kTrailingNpyData, what,
               fmt::format("if the rest is not wanted, cut the file to {} bytes",
                           static_cast<uint64_t>(header.data_offset) + need));
  }
  return header;
}

Result<NpyFile> NpyFile::Open(const std::string& path) {
  ASSIGN_OR_RETURN(internal::MappedFile mapping, internal::MappedFile::Open(path));
  auto kept = std::make_shared<internal::MappedFile>(std::move(mapping));
  const std::string_view bytes = kept->bytes();
  NpyFile file;
  ASSIGN_OR_RETURN(file.header_, ParseNpyHeader(bytes, bytes.size()));
  const std::string_view data = bytes.substr(static_cast<size_t>(file.header_.data_offset));
  file.data_ = std::as_bytes(std::span(data.data(), data.size()));
  file.mapping_ = std::move(kept);
  return file;
}

std::string MakeNpyHeader(const ArrayInfo& array) {
  std::string shape = fmt::format("{}", fmt::join(array.shape, ", "));
  if (array.shape.size() == 1) shape += ",";
  const bool structured = array.descr.starts_with('[');
  const std::string descr = structured ? array.descr : "'" + array.descr + "'";
  std::string dict = fmt::format("{{'descr': {}, 'fortran_order': {}, 'shape': ({}), }}", descr,
                                 array.fortran_order ? "True" : "False", shape);
  const bool ascii = std::all_of(dict.begin(), dict.end(),
                                 [](char c) { return static_cast<unsigned char>(c) < 128; });
  const auto padded = [&](size_t prefix) {
    const size_t total = (prefix + dict.size() + 1 + 63) / 64 * 64;
    return total - prefix;
  };
  int version = ascii ? 1 : 3;
  if (version == 1 && padded(10) > 0xFFFF) version = 2;
  const size_t prefix = version == 1 ? 10 : 12;
  const size_t length = padded(prefix);
  std::string header(kMagic);
  header += static_cast<char>(version);
  header += '\0';
  for (size_t i = 0; i < (version == 1 ? 2u : 4u); ++i)
    header += static_cast<char>(length >> (8 * i) & 0xFF);
  header += dict;
  header.append(length - dict.size() - 1, ' ');
  header += '\n';
  return header;
}

Status WriteNpyFile(const std::string& path, const ArrayInfo& array,
                    const std::function<Status(const ByteSink&)>& write_data, bool sync) {
  ASSIGN_OR_RETURN(internal::OutputFile file, internal::OutputFile::Create(path));
  const std::string header = MakeNpyHeader(array);
  TRY(file.Reserve(static_cast<int64_t>(header.size()) + array.bytes));
  TRY(file.Write(header));
  TRY(write_data([&](std::span<const std::byte> bytes) { return file.Write(bytes); }));
  if (file.size() != static_cast<int64_t>(header.size()) + array.bytes) {
    return MakeError(ExitCode::kInternal, DiagId::kInternalError,
                     fmt::format("{} bytes were written to '{}' instead of {}", file.size(), path,
                                 static_cast<int64_t>(header.size()) + array.bytes));
  }
  return file.Commit(sync);
}

}  // namespace hlokit
