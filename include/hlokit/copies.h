#ifndef HLOKIT_COPIES_H_
#define HLOKIT_COPIES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hlokit/module.h"
#include "hlokit/result.h"

namespace hlokit {

/// What a copy is there for.
enum class CopyClass : uint8_t {
  kLayout,       ///< source and result are ordered, tiled or packed differently
  kLifetime,     ///< a value needs a second buffer (copy insertion)
  kMemorySpace,  ///< between device, host and on-chip memory
  kUser,         ///< the program asks for it
  kUnknown,
};
/// "layout", "lifetime", "memory-space", "user", "unknown".
std::string_view CopyClassName(CopyClass copy_class);

enum class Confidence : uint8_t { kCertain, kHigh, kMedium, kLow };
std::string_view ConfidenceName(Confidence confidence);

/// How a copy looks in the module.
enum class CopyForm : uint8_t {
  kCopy,          ///< a copy instruction
  kAsyncCopy,     ///< copy-start with its copy-done, or an async wrapper of a copy
  kTranspose,     ///< a transpose that moves elements
  kReshape,       ///< a reshape that moves elements
  kFusedLayout,   ///< a fusion that reads a parameter in another order than it writes
  kFusedCopy,     ///< a fusion that gives out one value twice
  kMemcpyFusion,  ///< a fusion that only copies parameters
};
std::string_view CopyFormName(CopyForm form);

/// One reason for the verdict: a row of the decision table, or what another stage showed.
struct CopyEvidence {
  std::string rule;  ///< "3a", "C.5", "stage", "live-range"
  std::string text;
};

struct ClassifiedCopy {
  InstId inst;
  CopyForm form = CopyForm::kCopy;
  CopyClass copy_class = CopyClass::kUnknown;
  Confidence confidence = Confidence::kLow;
  /// Who made it, as far as can be told: "layout assignment", "copy insertion (loop state)", …
  std::string origin;
  Confidence origin_confidence = Confidence::kLow;
  std::vector<CopyEvidence> evidence;
  ShapeId from, to;  ///< of the copied array
  /// The result in blocks from most to least major, with the place of each in the source; one entry
  /// (0) when nothing changes place. Empty when it is not known.
  std::vector<uint32_t> permutation;
  bool moves = true;        ///< false: the order in memory stays, only the description changes
  bool keeps_rows = false;  ///< it moves, but the innermost block stays innermost
  int64_t bytes = 0;        ///< of the result, unpadded
  int64_t times = 1;        ///< executions per run
  bool times_known = true;
  InstId producer;  ///< behind bitcasts and tuples
  InstId consumer;  ///< the first one, behind bitcasts; invalid = the result
  uint32_t consumer_operand = 0;
  std::vector<InstId> arithmetic;  ///< kFusedLayout: what is computed on the way
  /// Copies of class kLayout: from the operand up to what fixed its layout, and from the result
  /// down to what asks for the other one, with both in words (empty when they are not found).
  std::vector<InstId> upstream, downstream;
  std::string has, wants;
  ShapeId has_shape, wants_shape;  ///< as it stands at both ends
};

struct CopyReport {
  std::vector<ClassifiedCopy> copies;  ///< most bytes first, then module order
  uint64_t free_bitcasts = 0;          ///< bitcasts cost nothing and are not listed
  uint64_t user_transposes = 0;        ///< of a module that was not optimised, not listed
};

struct ClassifyOptions {
  /// The same program before optimisation: what is there already is the user's own.
  const Module* before = nullptr;
  /// Looks for overlapping live ranges, which explains copies of equal layout.
  bool live_ranges = true;
};

/// Every copy of a module, of any stage of a compilation, with what it is there for. The decision
/// table is in docs/reference/copies.md.
CopyReport ClassifyCopies(const Module& module, const ClassifyOptions& options = {});

// ---- stages ----

/// Is the module from before optimisation, as far as can be seen? Then what is there already is the
/// user's own. No: it is scheduled, or holds bitcasts, fusions, copies as layout assignment makes
/// them, or arithmetic in orders that only layout assignment chooses.
bool LooksUnoptimised(const Module& module);

/// A copy at one stage, in names, so that the module need not be kept.
struct CopyTrack {
  std::string name;  ///< at the last stage that has it
  std::string computation;
  std::string shape;  ///< of the result
  CopyForm form = CopyForm::kCopy;
  int64_t bytes = 0;
  int first_stage = 0;  ///< number of the first stage that has it
  int last_stage = 0;
  int became = -1;  ///< the track that takes its place at the stage behind last_stage
};

/// Follows copies from stage to stage: by name first, then by opcode, operands and shape.
class CopyHistory {
 public:
  /// Stages in the order of the compilation. `pass` is the pass that has just run.
  void AddStage(const std::string& stage, const std::string& pass, const Module& module);
  struct Stage {
    std::string name, pass;
    uint64_t copies = 0;
  };
  const std::vector<Stage>& stages() const { return stages_; }
  const std::vector<CopyTrack>& tracks() const { return tracks_; }
  /// The verdict that the stage at which a copy first appears gives. `from_source`: the first stage
  /// is the module before optimisation, so what is there already is the user's own.
  void Refine(const Module& last, bool from_source, CopyReport& report) const;

 private:
  std::vector<Stage> stages_;
  std::vector<CopyTrack> tracks_;
  std::vector<std::string> signatures_;  // by track
  std::vector<uint32_t> alive_;          // tracks of the last stage
};

}  // namespace hlokit

#endif  // HLOKIT_COPIES_H_
