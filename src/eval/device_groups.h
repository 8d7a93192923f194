// Which devices exchange data? A device is replica * partitions + partition.
#ifndef HLOKIT_SRC_EVAL_DEVICE_GROUPS_H_
#define HLOKIT_SRC_EVAL_DEVICE_GROUPS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "hlokit/module.h"

namespace hlokit::eval {

/// num_partitions when that divides the number of devices, else 1.
int64_t PartitionCount(const Module& module, int64_t devices);

/// The groups of a collective as devices, in group order. Nothing for forms that are not known.
std::optional<std::vector<std::vector<int64_t>>> DeviceGroups(const Module& module, InstId id,
                                                              int64_t devices);

}  // namespace hlokit::eval

#endif  // HLOKIT_SRC_EVAL_DEVICE_GROUPS_H_
