// How is the reason of a copy said in words?
#include "fmt/format.h"
#include "hlokit/copy_insertion.h"

namespace hlokit {
namespace {

struct CauseRow {
  std::string_view word, problem, text;
};
constexpr CauseRow kCauses[] = {
#define HLOKIT_LIFETIME_CAUSE(id, word, problem, text) {word, problem, text},
#include "hlokit/lifetime_causes.def"
};

const CauseRow& Row(LifetimeCause cause) { return kCauses[static_cast<size_t>(cause)]; }

std::string Named(const Module& module, InstId inst) {
  return fmt::format("%{}", module.name(inst));
}

std::string Overlap(const Module& module, const LifetimeCopy& copy) {
  auto name = [&](InstId inst) { return Named(module, inst); };
  switch (copy.overlap) {
    case OverlapKind::kNone:
      return "";
    case OverlapKind::kOpenOrder:
      return fmt::format("nothing makes {} come before {}", name(copy.first), name(copy.second));
    case OverlapKind::kLivesOn:
      return fmt::format("{} is part of a result, so it is needed after {} is written",
                         name(copy.first), name(copy.second));
    case OverlapKind::kUsedLater:
      return copy.use == copy.second
                 ? fmt::format("{} reads {} and cannot write its result over it", name(copy.use),
                               name(copy.first))
                 : fmt::format("{} reads {} and may run after {} is written", name(copy.use),
                               name(copy.first), name(copy.second));
    case OverlapKind::kBothInside:
      return fmt::format("{} and {} each stand between other values of their buffers",
                         name(copy.first), name(copy.second));
    case OverlapKind::kLayout:
      return "it changes the layout";
  }
  return "";
}

}  // namespace

std::string_view LifetimeCauseWord(LifetimeCause cause) { return Row(cause).word; }
std::string_view LifetimeProblem(LifetimeCause cause) { return Row(cause).problem; }

std::string DescribeLifetimeCopy(const Module& module, const LifetimeCopy& copy) {
  std::string out = fmt::format(fmt::runtime(Row(copy.cause).text), Named(module, copy.subject));
  std::string overlap = Overlap(module, copy);
  return overlap.empty() ? out : out + "; " + overlap;
}

}  // namespace hlokit
