// What do the options of a pass hold, and which values are accepted?
#include <algorithm>
#include <charconv>

#include "fmt/format.h"
#include "hlokit/pass.h"

namespace hlokit {
namespace {

bool ParseNumber(const OptionSpec& spec, std::string_view text, int64_t* number) {
  switch (spec.type) {
    case OptionType::kBool:
      *number = text == "true" || text == "1" || text.empty();
      return *number != 0 || text == "false" || text == "0";
    case OptionType::kInt: {
      auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
      return error == std::errc() && end == text.data() + text.size();
    }
    case OptionType::kText:
      return true;
    case OptionType::kChoice: {
      std::string padded = fmt::format("|{}|", spec.choices);
      return !text.empty() && text.find('|') == text.npos &&
             padded.find(fmt::format("|{}|", text)) != padded.npos;
    }
  }
  return false;
}

std::string Expected(const OptionSpec& spec) {
  switch (spec.type) {
    case OptionType::kBool:
      return "true or false";
    case OptionType::kInt:
      return "an integer that fits into 64 bits";
    case OptionType::kText:
      return "text";
    case OptionType::kChoice:
      break;
  }
  return fmt::format("one of {}", spec.choices);
}

}  // namespace

PassOptions::PassOptions(std::span<const OptionSpec> specs) {
  for (const OptionSpec& spec : specs) {
    values_.push_back({&spec, std::string(spec.fallback)});
    ParseNumber(spec, spec.fallback, &values_.back().number);
  }
}

Status PassOptions::Set(std::string_view pass, std::string_view name, std::string_view value) {
  for (Value& slot : values_) {
    if (slot.spec->name != name) continue;
    if (!ParseNumber(*slot.spec, value, &slot.number)) {
      return MakeError(ExitCode::kUsage, DiagId::kBadPassOption,
                       fmt::format("option {} of pass {} cannot be \"{}\"", name, pass, value),
                       fmt::format("it takes {}", Expected(*slot.spec)));
    }
    slot.text = value;
    slot.given = true;
    return {};
  }
  std::vector<std::string_view> names;
  for (const Value& slot : values_) names.push_back(slot.spec->name);
  std::string help = names.empty() ? std::string("it has no options")
                                   : fmt::format("its options are: {}", fmt::join(names, ", "));
  return MakeError(ExitCode::kUsage, DiagId::kUnknownPassOption,
                   fmt::format("pass {} has no option {}", pass, name), help);
}

const PassOptions::Value& PassOptions::At(std::string_view name) const {
  auto found = std::find_if(values_.begin(), values_.end(),
                            [&](const Value& value) { return value.spec->name == name; });
  assert(found != values_.end());
  return *found;
}

std::string PassOptions::ToText() const {
  std::string out;
  for (const Value& value : values_) {
    if (!value.given) continue;
    out += out.empty() ? '{' : ' ';
    bool quote = value.text.find_first_of(" ,{}\"") != std::string::npos || value.text.empty();
    out += fmt::format("{}={}{}{}", value.spec->name, quote ? "\"" : "", value.text,
                       quote ? "\"" : "");
  }
  if (!out.empty()) out += '}';
  return out;
}

void PassContext::Warn(DiagId id, std::string message, std::string help) const {
  if (warnings == nullptr) return;
  warnings->push_back({.id = id,
                       .severity = Severity::kWarning,
                       .message = std::move(message),
                       .help = std::move(help)});
}

}  // namespace hlokit
