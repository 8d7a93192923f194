// What do the rules of the built-in backends say about one instruction?
#include "fmt/format.h"
#include "src/backend/rules.h"

namespace hlokit {
namespace {

constexpr BackendRuleInfo kRules[] = {
#define HLOKIT_BACKEND_RULE(id, name, backend, section, reason) {name, section, reason},
#include "hlokit/backend_rules.def"
};

/// The library that convolutions run in.
std::string_view LibraryOf(Vendor vendor) {
  constexpr std::string_view kLibraries[] = {"the library", "cuDNN", "MIOpen", "oneDNN"};
  return kLibraries[static_cast<size_t>(vendor)];
}

void Fill(std::string* text, std::string_view word, std::string_view value) {
  size_t at = text->find(word);
  if (at != std::string::npos) text->replace(at, word.size(), value);
}

class RuleBook final : public LayoutRuleBook {
 public:
  explicit RuleBook(std::shared_ptr<const Device> device) : device_(std::move(device)) {}

  BackendRuleText Describe(const Module& module, uint16_t rule, InstId at) const override {
    if (rule == 0 || rule > std::size(kRules)) return {};
    const BackendRuleInfo& info = kRules[rule - 1];
    BackendRuleText text{.id = std::string(info.name), .sentence = std::string(info.reason)};
    text.link = fmt::format("docs/reference/backends.md#{}", info.name);
    Fill(&text.sentence, "{library}", LibraryOf(device_->vendor));
    Fill(&text.sentence, "{device}", device_->name);
    if (at.valid() && module.operand_count(at) != 0) {
      ElementType type = module.shapes().type(module.shape(module.operand(at, 0)));
      Fill(&text.sentence, "{type}", Info(type).text);
    }
    if (IsConvolutionRule(rule) && at.valid()) {
      const ConvChoice& choice =
          ChooseConvLayout(*device_, backend::FactsOfConvolution(module, at));
      text.sentence += fmt::format(" ({}: {})", choice.row, choice.reason);
    }
    return text;
  }

 private:
  static bool IsConvolutionRule(uint16_t rule) {
    BackendRule kind = static_cast<BackendRule>(rule);
    return kind == BackendRule::kGpuConvNchw || kind == BackendRule::kGpuConvNhwc ||
           kind == BackendRule::kGpuConvVectC;
  }

  std::shared_ptr<const Device> device_;
};

}  // namespace

std::span<const BackendRuleInfo> BackendRuleTable() { return kRules; }

namespace backend {

std::shared_ptr<const LayoutRuleBook> MakeRuleBook(std::shared_ptr<const Device> device) {
  return std::make_shared<const RuleBook>(std::move(device));
}

}  // namespace backend
}  // namespace hlokit
