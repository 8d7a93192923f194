// Which names do instructions and stack frames have after reading? hlo-text.md sections 3.2 and 10.
#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "hlokit/attribute_text.h"
#include "src/read/parser.h"

namespace hlokit::read {
namespace {

/// Makes names unique, one call per name in the order of section 10.4. Two flat tables: from the
/// root of a name to its number of entries, and the set of (root, number) pairs in use.
class Uniquer {
 public:
  /// Empty when the name can stay as it is, else the new name in `fresh`.
  bool Rename(std::string_view name, std::string* fresh) {
    size_t dot = name.rfind('.');
    std::string_view root = name;
    uint64_t number = 0;
    bool numbered = false;
    if (dot != std::string_view::npos && dot != 0 && dot + 1 != name.size()) {
      std::from_chars_result end =
          std::from_chars(name.data() + dot + 1, name.data() + name.size(), number);
      if (end.ec == std::errc() && end.ptr == name.data() + name.size()) {
        root = name.substr(0, dot);
        numbered = true;
      } else {
        number = 0;
      }
    }
    uint32_t id = RootId(root);
    bool free = Use(id, number);
    bool canonical = !numbered || (name[dot + 1] != '0' || dot + 2 == name.size());
    if (free && canonical) return false;
    if (!free) {
      while (!Use(id, next_[id])) ++next_[id];
      number = next_[id];
    }
    *fresh = root;
    if (number != 0 || numbered) *fresh += "." + std::to_string(number);
    return true;
  }

 private:
  struct Root {
    uint64_t hash = 0;
    std::string_view text;
    uint32_t id = 0;
  };

  uint32_t RootId(std::string_view root) {
    uint64_t hash = HashBytes(root) | 1;
    uint32_t mask = static_cast<uint32_t>(roots_.size()) - 1;
    uint32_t at = static_cast<uint32_t>(hash >> 7) & mask;
    while (roots_[at].hash != 0) {
      if (roots_[at].hash == hash && roots_[at].text == root) return roots_[at].id;
      at = (at + 1) & mask;
    }
    uint32_t id = static_cast<uint32_t>(next_.size());
    roots_[at] = {hash, root, id};
    next_.push_back(0);
    if (2 * next_.size() > roots_.size()) {
      std::vector<Root> old(roots_.size() * 2);
      old.swap(roots_);
      mask = static_cast<uint32_t>(roots_.size()) - 1;
      for (const Root& entry : old) {
        if (entry.hash == 0) continue;
        at = static_cast<uint32_t>(entry.hash >> 7) & mask;
        while (roots_[at].hash != 0) at = (at + 1) & mask;
        roots_[at] = entry;
      }
    }
    return id;
  }

  bool Use(uint32_t root, uint64_t number) {
    uint64_t key = (uint64_t{root} << 34 ^ number) + 1;
    if (key == 0) key = 1;
    if (2 * ++used_count_ > used_.size()) GrowUsed();
    uint64_t mask = used_.size() - 1;
    uint64_t at = Spread(key) & mask;
    while (used_[at] != 0) {
      if (used_[at] == key) {
        --used_count_;
        return false;
      }
      at = (at + 1) & mask;
    }
    used_[at] = key;
    return true;
  }

  /// Roots sit in the high bits of a key, numbers in the low ones: both must reach the slot.
  static uint64_t Spread(uint64_t key) {
    key *= 0x9e3779b97f4a7c15ull;
    return key ^ key >> 32;
  }

  void GrowUsed() {
    std::vector<uint64_t> old(used_.size() * 2);
    old.swap(used_);
    uint64_t mask = used_.size() - 1;
    for (uint64_t key : old) {
      if (key == 0) continue;
      uint64_t at = Spread(key) & mask;
      while (used_[at] != 0) at = (at + 1) & mask;
      used_[at] = key;
    }
  }

  std::vector<Root> roots_ = std::vector<Root>(1024);
  std::vector<uint64_t> next_;
  std::vector<uint64_t> used_ = std::vector<uint64_t>(1024);
  size_t used_count_ = 0;
};

/// Section 10.2 for computations; instructions with such names were refused.
std::string Sanitised(std::string_view name) {
  std::string out(name);
  if (ElementTypeFromText(name) != ElementType::kInvalid) out += '_';
  if (name.starts_with("__") && !name.starts_with("__xla_")) out[0] = 'a';
  return out;
}

}  // namespace

void Parser::MakeNamesUnique() {
  Uniquer computations;
  Uniquer instructions;
  std::string fresh;
  for (CompId id : module_.computation_order()) {
    ComputationData& data = module_.computation(id);
    std::string_view name = module_.str(data.name);
    if (name.starts_with("__") || ElementTypeFromText(name) != ElementType::kInvalid) {
      data.name = Keep(Sanitised(name));
      name = module_.str(data.name);
    }
    if (computations.Rename(name, &fresh)) data.name = Keep(fresh);
    for (InstId inst : data.instructions) {
      if (instructions.Rename(module_.name(inst), &fresh)) module_.set_name(inst, Keep(fresh));
    }
  }
}

void Parser::RenumberStackFrames() {
  StackFrameIndex& index = module_.config().stack_frame_index;
  if (stack_frame_users_.empty()) {
    index = {};
    return;
  }
  // Keep what is reachable, numbered in the order of first use, outermost frame first.
  std::vector<std::pair<InstId, int64_t>> users = std::move(stack_frame_users_);
  std::vector<uint32_t> order_of(module_.computation_count());
  for (uint32_t i = 0; i < module_.computation_order().size(); ++i) {
    order_of[module_.computation_order()[i].value] = i;
  }
  std::stable_sort(users.begin(), users.end(), [&](const auto& a, const auto& b) {
    uint32_t x = order_of[module_.computation_of(a.first).value];
    uint32_t y = order_of[module_.computation_of(b.first).value];
    return x != y ? x < y : a.first < b.first;
  });
  StackFrameIndex kept;
  auto number_of = [](auto& table, auto& numbers, const auto& key, const auto& value) {
    auto [entry, fresh] = numbers.try_emplace(key, static_cast<int32_t>(table.size() + 1));
    if (fresh) table.push_back(value);
    return entry->second;
  };
  std::unordered_map<std::string, int32_t> files;
  std::unordered_map<std::string, int32_t> functions;
  std::unordered_map<std::string, int32_t> locations;
  std::unordered_map<uint64_t, int32_t> frames;
  std::vector<int32_t> new_id(index.stack_frames.size() + 1, 0);
  auto valid_location = [&](int32_t id) {
    if (id < 1 || id > static_cast<int32_t>(index.file_locations.size())) return false;
    const FileLocation& at = index.file_locations[id - 1];
    return at.file_name_id >= 1 &&
           at.file_name_id <= static_cast<int32_t>(index.file_names.size()) &&
           at.function_name_id >= 1 &&
           at.function_name_id <= static_cast<int32_t>(index.function_names.size());
  };
  for (const auto& [inst, old_id] : users) {
    // The chain from the innermost frame outwards, up to a frame that is numbered already.
    std::vector<int32_t> chain;
    bool valid = true;
    int64_t at = old_id;
    int32_t parent = 0;
    while (at != 0) {
      if (at < 0 || at > static_cast<int64_t>(index.stack_frames.size()) ||
          chain.size() > index.stack_frames.size() ||
          !valid_location(index.stack_frames[at - 1].file_location_id)) {
        valid = false;
        break;
      }
      if (new_id[at] != 0) {
        parent = new_id[at];
        break;
      }
      chain.push_back(static_cast<int32_t>(at));
      at = index.stack_frames[at - 1].parent_frame_id;
    }
    int32_t fresh = parent;
    for (auto step = chain.rbegin(); valid && step != chain.rend(); ++step) {
      FileLocation place = index.file_locations[index.stack_frames[*step - 1].file_location_id - 1];
      const std::string& file = index.file_names[place.file_name_id - 1];
      const std::string& function = index.function_names[place.function_name_id - 1];
      place.file_name_id = number_of(kept.file_names, files, file, file);
      place.function_name_id = number_of(kept.function_names, functions, function, function);
      std::string key(reinterpret_cast<const char*>(&place), sizeof(place));
      int32_t location = number_of(kept.file_locations, locations, key, place);
      StackFrame frame{location, fresh};
      uint64_t frame_key = static_cast<uint64_t>(location) << 32 | static_cast<uint32_t>(fresh);
      fresh = number_of(kept.stack_frames, frames, frame_key, frame);
      new_id[*step] = fresh;
    }
    if (!valid) fresh = 0;
    if (fresh == old_id) continue;
    // Write the new number into the text of the metadata.
    TextFields fields = hlokit::ParseMetadata(module_.TextAttr(inst, AttrKind::kMetadata));
    for (auto& [name, value] : fields) {
      if (name == "stack_frame_id") value = fresh == 0 ? "" : std::to_string(fresh);
    }
    std::string text = MetadataText(fields);
    if (text.empty()) {
      module_.RemoveAttr(inst, AttrKind::kMetadata);
    } else {
      module_.SetAttr(inst, module_.TextAttribute(AttrKind::kMetadata, text));
    }
  }
  index = std::move(kept);
}

}  // namespace hlokit::read
