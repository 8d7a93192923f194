// Can the values of two buffers take turns in one, when not only whole lists but single values are
// compared, and edges may be added? (copy-insertion.md A.4, "Region analysis")
#ifndef HLOKIT_SRC_COPY_INSERTION_REGIONS_H_
#define HLOKIT_SRC_COPY_INSERTION_REGIONS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "src/copy_insertion/order.h"

namespace hlokit::copies {

/// A value with all that it stands for: results of removed copies, and their readers.
struct LiveValue {
  ValueId value;
  std::span<const ValueId> parts;
  std::span<const Use> uses;
};

/// The values of one buffer, and which of them the copy reads or writes.
struct BufferList {
  std::vector<LiveValue> values;
  size_t at = 0;
  const LiveValue& middle() const { return values[at]; }
};

class Regions {
 public:
  /// `limit`: 0 never, -1 always, else the sum of the pairs of reads and writes that are compared.
  Regions(const Module& module, Order& order, int64_t limit)
      : module_(module), order_(order), left_(limit) {}

  struct Joined {
    std::vector<ValueId> list;     ///< of the common buffer, source and result side by side
    std::vector<OrderEdge> edges;  ///< the order knows them already, the module does not
  };
  /// The common list without the copy; nothing when values overlap in every order that edges can
  /// bring about, or when the limit is reached. The result must be the first value of its list, or
  /// the source the last one of its list.
  std::optional<Joined> Join(InstId copy, const BufferList& source, const BufferList& result);

 private:
  bool Affordable(const BufferList& source, const BufferList& result);
  bool Before(const LiveValue& a, const LiveValue& b);
  bool BeforeWithEdges(const LiveValue& a, const LiveValue& b);
  bool AllBefore(std::span<const LiveValue> first, std::span<const LiveValue> last);
  bool Interleave(std::span<const LiveValue> first, std::span<const LiveValue> second,
                  std::vector<ValueId>* list);
  bool TouchUpdates(const LiveValue& source, const LiveValue& result) const;

  const Module& module_;
  Order& order_;
  int64_t left_;
  std::vector<OrderEdge> edges_;  // wanted for the copy at hand
};

}  // namespace hlokit::copies

#endif  // HLOKIT_SRC_COPY_INSERTION_REGIONS_H_
