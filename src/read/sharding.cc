// Shardings by tiles, brought into their canonical text. hlo-text.md section 8.11.
#include <algorithm>
#include <numeric>
#include <optional>

#include "fmt/format.h"
#include "src/read/iota_list.h"
#include "src/read/parser.h"

namespace hlokit::read {
namespace {

enum SubGroup { kMaximal = 0, kManual, kUnreduced, kReplicated };
constexpr std::string_view kSubGroupNames[] = {"maximal", "manual", "unreduced", "replicated"};

struct Tiling {
  std::vector<int64_t> tile;
  std::optional<Iota> iota;
  std::vector<int64_t> devices;  // when there is no iota
  std::vector<SubGroup> sub_groups;
  bool replicate_last = false;
};

/// Reorders the dimensions of the tile, and the devices with them.
void TransposeTile(Tiling* t, std::span<const size_t> order) {
  std::vector<int64_t> new_tile;
  for (size_t d : order) new_tile.push_back(t->tile[d]);
  bool identity = std::is_sorted(order.begin(), order.end());
  if (identity) return;
  if (t->iota) {
    // Cut the transposed iota dimensions at the borders of the tile dimensions, if they meet.
    struct Piece {
      int64_t size;
      int64_t dim;   // iota dimension it is part of
      int64_t part;  // position inside that dimension, major first
    };
    std::vector<std::vector<Piece>> pieces(t->tile.size());
    std::vector<int64_t> parts(t->iota->dims.size(), 0);
    bool fits = true;
    size_t d = 0;
    int64_t left = t->tile.empty() ? 1 : t->tile[0];
    for (int64_t p : t->iota->perm) {
      int64_t size = t->iota->dims[p];
      while (size > 1 && fits) {
        while (left == 1 && d + 1 < t->tile.size()) left = t->tile[++d];
        int64_t take = std::gcd(size, left);
        if (take == 1 || (take != size && take != left)) {
          fits = false;
          break;
        }
        pieces[d].push_back({take, p, parts[p]++});
        size /= take;
        left /= take;
      }
    }
    if (fits) {
      // Number the pieces in the order of the reshape dimensions.
      std::vector<Piece> all;
      for (const std::vector<Piece>& group : pieces)
        all.insert(all.end(), group.begin(), group.end());
      std::sort(all.begin(), all.end(), [](const Piece& a, const Piece& b) {
        return a.dim != b.dim ? a.dim < b.dim : a.part < b.part;
      });
      Iota fresh;
      for (const Piece& piece : all) fresh.dims.push_back(piece.size);
      for (size_t to : order) {
        for (const Piece& piece : pieces[to]) {
          for (size_t i = 0; i < all.size(); ++i) {
            if (all[i].dim == piece.dim && all[i].part == piece.part)
              fresh.perm.push_back(static_cast<int64_t>(i));
          }
        }
      }
      t->iota = fresh;
      t->tile = std::move(new_tile);
      return;
    }
    t->devices = t->iota->Expand();
    t->iota.reset();
  }
  std::vector<int64_t> strides(t->tile.size(), 1);
  for (size_t i = t->tile.size(); i-- > 1;) strides[i - 1] = strides[i] * t->tile[i];
  std::vector<int64_t> moved;
  std::vector<int64_t> index(order.size());
  for (size_t n = 0; n < t->devices.size(); ++n) {
    int64_t from = 0;
    for (size_t i = 0; i < order.size(); ++i) from += index[i] * strides[order[i]];
    moved.push_back(t->devices[from]);
    for (size_t i = order.size(); i-- > 0;) {
      if (++index[i] < new_tile[i]) break;
      index[i] = 0;
    }
  }
  t->devices = std::move(moved);
  t->tile = std::move(new_tile);
}

/// Device ids inside each group of the last dimension in ascending order.
void SortLastGroups(Tiling* t) {
  int64_t group = t->tile.back();
  std::vector<int64_t> devices = t->iota ? t->iota->Expand() : t->devices;
  std::vector<int64_t> sorted = devices;
  for (size_t at = 0; at + group <= sorted.size(); at += group) {
    std::sort(sorted.begin() + at, sorted.begin() + at + group);
  }
  if (sorted == devices) return;
  if (t->iota) {
    // The dimensions that make up a group, in reshape order, may give the same devices.
    Iota changed = *t->iota;
    for (size_t tail = 1; tail <= changed.perm.size(); ++tail) {
      Iota candidate = changed;
      std::sort(candidate.perm.end() - tail, candidate.perm.end());
      if (candidate.Expand() == sorted) {
        t->iota = candidate;
        return;
      }
    }
    t->iota.reset();
  }
  t->devices = std::move(sorted);
}

}  // namespace

// ---- tile shardings ----

namespace {
std::string CanonicalTileText(Tiling* t);
}  // namespace

bool Parser::ParseTileSharding(std::string* out) {
  uint32_t begin = token_.begin;
  Tiling t;
  bool replicated = false, maximal = false, manual = false, unknown = false, unreduced = false;
  bool has_devices = false;
  bool has_device = false;
  int64_t device = 0;
  std::string shard_group;
  std::string metadata;
  while (!Is(Tok::kRightBrace)) {
    if (Is(Tok::kKeyword)) {
      Keyword keyword = token_.keyword;
      std::string_view word = TokenText();
      bool* flag = keyword == Keyword::kReplicated             ? &replicated
                   : keyword == Keyword::kMaximal              ? &maximal
                   : keyword == Keyword::kManual               ? &manual
                   : keyword == Keyword::kUnknown              ? &unknown
                   : keyword == Keyword::kUnreduced            ? &unreduced
                   : keyword == Keyword::kLastTileDimReplicate ? &t.replicate_last
                                                               : nullptr;
      if (flag != nullptr) {
        *flag = true;
        Next();
        continue;
      }
      if (keyword != Keyword::kShardAs && keyword != Keyword::kShardLike)
        return FailExpected("a sharding");
      Next();
      int64_t number;
      if (!ParseInteger(&number)) return false;
      shard_group = fmt::format(" {} {}", word, number);
      continue;
    }
    if (!Is(Tok::kAttributeName)) return FailExpected("a sharding");
    std::string_view word = WordText();
    Next();
    if (word == "device") {
      has_device = true;
      if (!ParseInteger(&device)) return false;
    } else if (word == "devices") {
      has_devices = true;
      if (!ParseSquareList(&t.tile)) return false;
      if (Eat(Tok::kLessEquals)) {
        Iota iota;
        uint32_t at = token_.begin;
        if (!ParseIotaTail(&iota.dims, &iota.perm)) return false;
        if (Product(iota.dims) < 0 || Product(t.tile) < 0) {
          return Fail(DiagId::kBadSharding, at,
                      "the sharding names more devices than can be counted");
        }
        t.iota = std::move(iota);
      } else {
        do {
          int64_t id;
          if (!ParseInteger(&id, "a device number")) return false;
          t.devices.push_back(id);
        } while (Eat(Tok::kComma));
      }
    } else if (word == "last_tile_dims") {
      if (!Expect(Tok::kLeftBrace, "'{'")) return false;
      bool first = true;
      while (!Is(Tok::kRightBrace)) {
        if (!first && !Expect(Tok::kComma, "',' or '}'")) return false;
        first = false;
        size_t type = std::find(std::begin(kSubGroupNames), std::end(kSubGroupNames), TokenText()) -
                      std::begin(kSubGroupNames);
        if (type == std::size(kSubGroupNames))
          return FailExpected("maximal, manual, unreduced or replicated");
        t.sub_groups.push_back(static_cast<SubGroup>(type));
        Next();
      }
      Next();
    } else if (word == "metadata") {
      std::string one;
      if (!ParseMetadataOrList(&one)) return false;
      metadata = " metadata=" + one;
    } else {
      return FailExpected("a sharding");
    }
  }
  auto fail = [&](std::string_view message) {
    return Fail(DiagId::kBadSharding, begin, std::string(message));
  };
  std::string text;
  int kinds = replicated + maximal + manual + unknown + unreduced;
  if (kinds > 1) return fail("a sharding is of one kind");
  if (kinds == 1) {
    if (maximal) {
      if (!has_device && t.devices.size() == 1) device = t.devices[0];
      if ((!has_device && t.devices.size() != 1) || t.iota || t.devices.size() > 1) {
        return fail("a maximal sharding names one device");
      }
      text = fmt::format("maximal device={}", device);
    } else {
      if (has_devices || has_device) return fail("this kind of sharding names no devices");
      text = replicated ? "replicated" : manual ? "manual" : unknown ? "unknown" : "unreduced";
    }
  } else {
    if (!has_devices || t.tile.empty()) return fail("the sharding names no devices");
    if (!t.iota) {
      int64_t wanted = Product(t.tile);
      if (t.devices.size() <= 1) return fail("a tiled sharding names more than one device");
      if (wanted < 0 || wanted > kMaxDevices || static_cast<int64_t>(t.devices.size()) > wanted) {
        return fail("the tile has another number of devices than are listed");
      }
      if (static_cast<int64_t>(t.devices.size()) < wanted) {
        Warn(DiagId::kBadSharding, begin,
             "the tile has more devices than are listed; the rest counts as device 0");
        t.devices.resize(wanted);
      }
    } else if (Product(t.tile) > kMaxDevices) {
      return fail("the tile has too many devices");
    }
    if (t.sub_groups.size() > t.tile.size())
      return fail("there are more sub-groups than tile dimensions");
    text = CanonicalTileText(&t);
  }
  *out += text + shard_group + metadata;
  return true;
}

namespace {

std::string TileText(const Tiling& t, const std::string& tail) {
  Tiling copy = t;
  std::string devices;
  if (copy.iota) {
    copy.iota->Canonicalise();
    devices = copy.iota->Text();
  } else {
    devices = fmt::format("{}", fmt::join(copy.devices, ","));
  }
  return fmt::format("devices=[{}]{}{}", fmt::join(t.tile, ","), devices, tail);
}

std::string ReplicatedLast(Tiling* t) {
  int64_t group = t->tile.back();
  if (group == 1) {
    t->tile.pop_back();
    if (Product(t->tile) == 1) return "replicated";
    return TileText(*t, "");
  }
  if (Product(t->tile) == group) return "replicated";
  SortLastGroups(t);
  return TileText(*t, " last_tile_dim_replicate");
}

/// Sub-group dimensions of size 1 dropped, ordered by kind, equal kinds merged.
std::string CanonicalTileText(Tiling* t) {
  // The reference does not notice a wrong number of devices; there is nothing to normalise then.
  if (t->iota && Product(t->iota->dims) != Product(t->tile)) {
    std::string tail = t->replicate_last ? " last_tile_dim_replicate" : "";
    if (!t->sub_groups.empty()) {
      std::vector<std::string_view> names;
      for (SubGroup kind : t->sub_groups) names.push_back(kSubGroupNames[kind]);
      tail = fmt::format(" last_tile_dims={{{}}}", fmt::join(names, ", "));
    }
    return TileText(*t, tail);
  }
  if (t->replicate_last) return ReplicatedLast(t);
  if (t->sub_groups.empty()) return TileText(*t, "");
  size_t data = t->tile.size() - t->sub_groups.size();
  std::vector<size_t> order(t->tile.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin() + data, order.end(), [&](size_t a, size_t b) {
    return t->sub_groups[a - data] < t->sub_groups[b - data];
  });
  std::vector<SubGroup> kinds;
  for (size_t i = data; i < order.size(); ++i) kinds.push_back(t->sub_groups[order[i] - data]);
  TransposeTile(t, order);
  std::vector<int64_t> tile(t->tile.begin(), t->tile.begin() + data);
  std::vector<SubGroup> merged;
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < kinds.size(); ++i) {
    int64_t size = t->tile[data + i];
    if (size == 1) continue;
    if (!merged.empty() && merged.back() == kinds[i]) {
      sizes.back() *= size;
    } else {
      merged.push_back(kinds[i]);
      sizes.push_back(size);
    }
  }
  bool tiled = Product(tile) != 1;
  t->tile = tile;
  t->tile.insert(t->tile.end(), sizes.begin(), sizes.end());
  if (merged.empty()) return tiled ? TileText(*t, "") : "replicated";
  if (!tiled && merged.size() == 1 && merged[0] != kMaximal)
    return std::string(kSubGroupNames[merged[0]]);
  if (merged.size() == 1 && merged[0] == kReplicated) return ReplicatedLast(t);
  std::vector<std::string_view> names;
  for (SubGroup kind : merged) names.push_back(kSubGroupNames[kind]);
  return TileText(*t, fmt::format(" last_tile_dims={{{}}}", fmt::join(names, ", ")));
}

}  // namespace

bool Parser::ParseSingleSharding(std::string* out) {
  // At the '{'.
  if (!Expect(Tok::kLeftBrace, "'{'")) return false;
  *out += '{';
  bool named = Is(Tok::kIdentifier) && (TokenText() == "mesh" || TokenText() == "maximal_mesh");
  if (named ? !ParseNamedSharding(out) : !ParseTileSharding(out)) return false;
  *out += '}';
  return Expect(Tok::kRightBrace, "'}'");
}

bool Parser::ParseSharding(std::string* out) {
  out->clear();
  if (!Is(Tok::kLeftBrace)) return FailExpected("'{'");
  Token ahead = lexer_.At(token_.end);
  if (ahead.kind != Tok::kLeftBrace && ahead.kind != Tok::kRightBrace)
    return ParseSingleSharding(out);
  Next();
  *out = "{";
  int members = 0;
  while (!Is(Tok::kRightBrace)) {
    if (members != 0) {
      if (!Expect(Tok::kComma, "',' or '}'")) return false;
      *out += members % 5 == 0 ? fmt::format(", /*index={}*/", members) : std::string(", ");
    }
    ++members;
    if (!ParseSingleSharding(out)) return false;
  }
  Next();
  *out += '}';
  return true;
}

}  // namespace hlokit::read
