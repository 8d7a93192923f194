// How are the facts of a device written? Shared by the table, the reader and the writer.
#ifndef HLOKIT_SRC_BACKEND_DEVICE_FACTS_H_
#define HLOKIT_SRC_BACKEND_DEVICE_FACTS_H_

#include <optional>
#include <string>
#include <string_view>

#include "hlokit/backend.h"

namespace hlokit::backend {

/// "9.0a"; nothing when the text is no compute capability.
std::optional<ComputeCapability> ParseCapability(std::string_view text);
std::string CapabilityText(const ComputeCapability& capability);
std::optional<Vendor> VendorFromName(std::string_view name);
std::optional<DemandKind> DemandKindFromName(std::string_view name);

/// The nearest of `names` for a help line, "did you mean 'x'?", or `otherwise`.
std::string DidYouMean(std::string_view wanted, std::vector<std::string_view> names,
                       std::string otherwise);

}  // namespace hlokit::backend

#endif  // HLOKIT_SRC_BACKEND_DEVICE_FACTS_H_
