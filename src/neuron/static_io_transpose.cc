// How are the weights of a work folder transposed once, on the host? Decides what the new state of
// every path is, then lets a FolderTransaction make all of it true at once.

#include "src/neuron/static_io_transpose.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

#include "fmt/format.h"
#include "hlokit/file.h"
#include "hlokit/io_transposes.h"
#include "hlokit/pickle.h"
#include "src/base/json.h"
#include "src/neuron/checksum.h"
#include "src/neuron/marker.h"
#include "src/neuron/transaction.h"
#include "src/neuron/work_folder.h"
#include "src/tensor/fs_step.h"
#include "src/tensor/output_file.h"
#include "src/tensor/printable.h"
#include "src/tensor/progress.h"
#include "src/tensor/tensor_io.h"

namespace hlokit {
namespace {

constexpr std::string_view kSpecs = "io_transposes.json";
constexpr std::string_view kInputs = "inp-000.p";
constexpr std::string_view kOutput = "transposed_inputs";

std::span<const std::byte> Bytes(const PickleValue& value) {
  return std::as_bytes(std::span(value.text.data(), value.text.size()));
}

std::string ArrayName(const std::string& input) { return "value_" + input + ".npy"; }

std::vector<int64_t> TransposedShape(const IoTranspose& spec) {
  std::vector<int64_t> shape;
  for (int64_t axis : spec.transpose) shape.push_back(spec.reshape[static_cast<size_t>(axis)]);
  return shape;
}

bool SameSpec(const IoTranspose& a, const IoTranspose& b) {
  return a.input_name == b.input_name && a.reshape == b.reshape && a.transpose == b.transpose;
}

class Job {
 public:
  Job(const StaticIoTransposeOptions& options, WorkFolder& folder)
      : options_(options),
        folder_(folder),
        transaction_(folder.path()),
        progress_("static-io-transpose") {}

  Result<StaticIoTransposeReport> Run();
  Result<StaticIoTransposeReport> Invert();

 private:
  struct Input {
    IoTranspose spec;  ///< simplified
    PickleId id = 0;
    std::vector<int64_t> original_shape;
    TransposedArray
        moved;  ///< what the run delivers; the array as it is when it was applied before
  };

  Status ReadInputs();
  Status ReadMarker();
  Status DecideState();
  Status MatchSpecs();
  Result<PickleId> FindInput(const std::string& name) const;
  Status StagePickle(const std::map<PickleId, PickleReplacement>& replacements);
  Status StageText(std::string_view relative, const std::string& text);
  Status StageArrays();
  Status StageUntransposed();
  Status StageLink(const std::string& relative, const std::string& target);
  Status FanOut();
  Status Commit();
  PickleReplacement ReplacementFor(const TransposedArray& array, std::string* checksum);

  const StaticIoTransposeOptions& options_;
  WorkFolder& folder_;
  FolderTransaction transaction_;
  internal::Progress progress_;
  int64_t total_bytes_ = 0;
  int64_t done_bytes_ = 0;

  std::string json_text_;
  PickleDocument pickle_;
  std::optional<Marker> old_marker_;
  Marker marker_;
  bool applied_ = false;  ///< the inputs are in the state after the recorded run
  std::vector<IoTranspose> specs_;
  std::vector<Input> inputs_;
  std::map<std::string, std::string>
      arrays_;  ///< name in transposed_inputs -> what a link to it points to
  StaticIoTransposeReport report_;
};

Status Job::ReadInputs() {
  ASSIGN_OR_RETURN(pickle_, PickleDocument::Open(folder_.At(kInputs)));
  if (pickle_.value(pickle_.root()).kind != PickleKind::kDict) {
    return MakeError(ExitCode::kCannotParse, DiagId::kBadInputValue,
                     fmt::format("{} holds no dict", kInputs),
                     "it must map the names of the inputs to numpy arrays");
  }
  return {};
}

Status Job::ReadMarker() {
  const std::string path = folder_.At(kMarkerName);
  if (KindOfPath(path) == PathKind::kMissing) return {};
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, size_t{256} << 20));
  ASSIGN_OR_RETURN(old_marker_, ParseMarker(text));
  return {};
}

Result<PickleId> Job::FindInput(const std::string& name) const {
  const PickleId* id = pickle_.Find(pickle_.root(), name);
  if (id == nullptr) {
    return MakeError(
        ExitCode::kCheckFailed, DiagId::kMissingInput,
        fmt::format("input '{}' of {} is not in {}", internal::Printable(name), kSpecs, kInputs),
        "both files must come from the same compilation");
  }
  if (pickle_.value(*id).kind != PickleKind::kArray) {
    return MakeError(
        ExitCode::kCannotParse, DiagId::kBadInputValue,
        fmt::format("input '{}' in {} is no numpy array", internal::Printable(name), kInputs));
  }
  return *id;
}

/// Are the recorded inputs in the state before or after the recorded run?
Status Job::DecideState() {
  if (!old_marker_) return {};
  size_t after = 0;
  std::string odd;
  for (const AppliedTranspose& input : old_marker_->inputs) {
    const PickleId* id = pickle_.Find(pickle_.root(), input.spec.input_name);
    const PickleValue* value = id == nullptr ? nullptr : &pickle_.value(*id);
    if (value == nullptr || value->kind != PickleKind::kArray) {
      odd = input.spec.input_name;
      continue;
    }
    const std::string sum = ChecksumOf(Bytes(*value));
    if (sum == input.after && value->array->shape == TransposedShape(input.spec) &&
        !value->array->fortran_order) {
      ++after;
    } else if (sum != input.before || value->array->shape != input.original_shape) {
      odd = input.spec.input_name;
    }
  }
  applied_ = after == old_marker_->inputs.size();
  if (odd.empty() && (applied_ || after == 0)) return {};
  return MakeError(
      ExitCode::kCheckFailed, DiagId::kUnknownState,
      fmt::format(
          "{} is neither in the state before nor after the run that {} records (input '{}')",
          kInputs, kMarkerName, internal::Printable(odd)),
      fmt::format("if {} holds fresh, untransposed inputs, delete {} and run again", kInputs,
                  kMarkerName));
}

/// Simplifies every spec against the shape that the input had before any run.
Status Job::MatchSpecs() {
  for (const IoTranspose& spec : specs_) {
    TRY(CheckInputName(spec.input_name));
    ASSIGN_OR_RETURN(const PickleId id, FindInput(spec.input_name));
    const PickleValue& value = pickle_.value(id);
    Input input{.id = id, .original_shape = value.array->shape};
    const AppliedTranspose* recorded = nullptr;
    for (const AppliedTranspose& entry :
         applied_ ? old_marker_->inputs : std::vector<AppliedTranspose>()) {
      if (entry.spec.input_name == spec.input_name) {
        input.original_shape = entry.original_shape;
        recorded = &*std::find_if(
            old_marker_->inputs.begin(), old_marker_->inputs.end(),
            [&](const AppliedTranspose& e) { return e.spec.input_name == spec.input_name; });
      }
    }
    ASSIGN_OR_RETURN(input.spec, SimplifyIoTranspose(spec, input.original_shape));
    if (applied_ && (recorded == nullptr || !SameSpec(recorded->spec, input.spec))) {
      return MakeError(
          ExitCode::kCheckFailed, DiagId::kUnknownState,
          fmt::format("{} was applied already, and its entry for '{}' is another one now", kSpecs,
                      internal::Printable(spec.input_name)),
          "undo the recorded run with --invert, then run again");
    }
    if (input.spec.reshape.size() > kComfortableIoDimensions) {
      report_.warnings.push_back(
          {.id = DiagId::kManyIoDimensions,
           .severity = Severity::kWarning,
           .message = fmt::format(
               "the transpose of '{}' needs {} dimensions; consumers are made for up to {}",
               input.spec.input_name, input.spec.reshape.size(), kComfortableIoDimensions),
           .location = spec.location});
    }
    std::vector<int64_t> reshape = input.spec.reshape;
    std::vector<int64_t> transpose = input.spec.transpose;
    if (applied_) {
      reshape = value.array->shape;
      for (size_t i = 0; i < transpose.size(); ++i) transpose[i] = static_cast<int64_t>(i);
    }
    ASSIGN_OR_RETURN(input.moved,
                     TransposedArray::Make(*value.array, Bytes(value), reshape, transpose,
                                           std::max<int64_t>(8, value.array->item_bytes * 8)));
    total_bytes_ += value.array->bytes * ((applied_ ? 0 : 1) + (options_.verify ? 1 : 0));
    inputs_.push_back(std::move(input));
  }
  if (applied_ && old_marker_->inputs.size() != inputs_.size()) {
    return MakeError(ExitCode::kCheckFailed, DiagId::kUnknownState,
                     fmt::format("an entry of {} that was applied is gone", kSpecs),
                     "undo the recorded run with --invert, then run again");
  }
  return {};
}

PickleReplacement Job::ReplacementFor(const TransposedArray& array, std::string* checksum) {
  return {.array = array.info(),
          .write_data = [this, &array, checksum](const ByteSink& sink) -> Status {
            Checksum sum;
            const int64_t begin = done_bytes_;
            TRY(array.Write(
                [&](std::span<const std::byte> bytes) {
                  sum.Update(bytes);
                  return sink(bytes);
                },
                {}, [&](int64_t done, int64_t) { progress_.Update(begin + done, total_bytes_); }));
            done_bytes_ = begin + array.info().bytes;
            if (checksum != nullptr) *checksum = sum.Hex();
            return {};
          }};
}

Status Job::StagePickle(const std::map<PickleId, PickleReplacement>& replacements) {
  ASSIGN_OR_RETURN(const std::string staged, transaction_.StageFile(folder_.At(kInputs)));
  ASSIGN_OR_RETURN(internal::OutputFile file, internal::OutputFile::Create(staged));
  TRY(WritePickle(pickle_, replacements,
                  [&](std::span<const std::byte> bytes) { return file.Write(bytes); }));
  TRY(file.Commit(options_.sync));
  struct stat info {};
  if (stat(folder_.At(kInputs).c_str(), &info) == 0)
    static_cast<void>(chmod(staged.c_str(), info.st_mode & 07777));
  return {};
}

Status Job::StageText(std::string_view relative, const std::string& text) {
  Result<std::string> old = ReadFile(folder_.At(relative));
  if (old && *old == text) return {};
  ASSIGN_OR_RETURN(const std::string staged, transaction_.StageFile(folder_.At(relative)));
  ASSIGN_OR_RETURN(internal::OutputFile file, internal::OutputFile::Create(staged));
  TRY(file.Write(text));
  return file.Commit(options_.sync);
}

/// A link inside the work folder, unless it is there already.
Status Job::StageLink(const std::string& relative, const std::string& target) {
  TRY(folder_.CheckInside(relative));
  const std::string path = folder_.At(relative);
  const PathKind kind = KindOfPath(path);
  MadeLink made{.path = relative, .previous = std::nullopt};
  const MadeLink* recorded = nullptr;
  for (const MadeLink& link : old_marker_ ? old_marker_->links : std::vector<MadeLink>()) {
    if (link.path == relative) {
      made.previous = link.previous;
      recorded = &made;
    }
  }
  if (kind == PathKind::kLink && recorded == nullptr) made.previous = LinkTarget(path);
  const std::vector<std::string>& ours = old_marker_ ? old_marker_->files : marker_.files;
  const bool own_file = std::find(ours.begin(), ours.end(), relative) != ours.end();
  if (kind == PathKind::kFolder || kind == PathKind::kOther ||
      (kind == PathKind::kFile && !options_.force && !own_file)) {
    return MakeError(
        ExitCode::kIo, DiagId::kInTheWay,
        fmt::format("'{}' stands where a link has to go", relative),
        kind == PathKind::kFile ? "move it away, or replace it with --force" : "move it away");
  }
  const bool same = kind == PathKind::kLink && LinkTarget(path) == target;
  if (same && recorded == nullptr) return {};  // somebody made it before: not ours to undo
  marker_.links.push_back(made);
  return same ? Status() : transaction_.StageLink(path, target);
}

/// Verify mode: the transposed arrays as files of their own.
Status Job::StageArrays() {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const std::string name = ArrayName(inputs_[i].spec.input_name);
    const std::string relative = fmt::format("{}/{}", kOutput, name);
    const std::vector<std::string>& ours = old_marker_ ? old_marker_->files : marker_.files;
    const bool own = std::find(ours.begin(), ours.end(), relative) != ours.end();
    const PathKind kind = KindOfPath(folder_.At(relative));
    if (!options_.verify) {
      if (own && applied_) marker_.files.push_back(relative);
      continue;
    }
    arrays_[name] = folder_.At(relative);
    marker_.files.push_back(relative);
    if (kind == PathKind::kFile && applied_) {
      Result<NpyFile> old = NpyFile::Open(folder_.At(relative));
      if (old && old->array().shape == inputs_[i].moved.info().shape &&
          ChecksumOf(old->data()) == old_marker_->inputs[i].after)
        continue;
    }
    if (kind == PathKind::kFolder || kind == PathKind::kOther) {
      return MakeError(ExitCode::kIo, DiagId::kInTheWay,
                       fmt::format("'{}' stands where an array has to go", relative),
                       "move it away");
    }
    ASSIGN_OR_RETURN(const std::string staged, transaction_.StageFile(folder_.At(relative)));
    TRY(WriteNpyFile(staged, inputs_[i].moved.info(),
                     ReplacementFor(inputs_[i].moved, nullptr).write_data, options_.sync));
  }
  return {};
}

/// Inputs without a transpose: links to the arrays that the caller has in the work folder.
Status Job::StageUntransposed() {
  std::set<std::string> moved;
  for (const Input& input : inputs_) moved.insert(input.spec.input_name);
  const std::vector<PickleId>& items = pickle_.value(pickle_.root()).items;
  for (size_t i = 0; i + 1 < items.size(); i += 2) {
    const PickleValue& key = pickle_.value(items[i]);
    if (key.kind != PickleKind::kString || moved.contains(std::string(key.text))) continue;
    const std::string input(key.text);
    TRY(CheckInputName(input));
    for (const std::string& name : {ArrayName(input), ArrayName(input) + ".meta"}) {
      if (KindOfPath(folder_.At(name)) == PathKind::kMissing) continue;
      const std::optional<std::string> real = RealPath(folder_.At(name));
      if (!real)
        return internal::FileError(DiagId::kCannotOpen, "follow the link", folder_.At(name), errno);
      arrays_[name] = *real;
      TRY(StageLink(fmt::format("{}/{}", kOutput, name), folder_.At(name)));
    }
  }
  return StageLink(fmt::format("{}/{}", kOutput, kInputs), folder_.At(kInputs));
}

/// Every array of transposed_inputs, also older ones, gets a link in every subgraph folder.
Status Job::FanOut() {
  ASSIGN_OR_RETURN(const std::vector<std::string> existing, folder_.Arrays(std::string(kOutput)));
  for (const std::string& name : existing) {
    if (arrays_.contains(name)) continue;
    const std::string path = fmt::format("{}/{}", folder_.At(kOutput), name);
    const std::optional<std::string> real = RealPath(path);
    if (!real && errno == ELOOP)
      return internal::FileError(DiagId::kCannotOpen, "follow the link", path, ELOOP);
    if (real) arrays_[name] = *real;
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> subgraphs, folder_.SubgraphFolders());
  for (const std::string& subgraph : subgraphs) {
    for (const auto& [name, target] : arrays_) TRY(StageLink(subgraph + "/" + name, target));
  }
  return {};
}

Status Job::Commit() {
  progress_.Clear();
  const std::string output = folder_.At(kOutput);
  const bool make = marker_.made_folder && KindOfPath(output) == PathKind::kMissing;
  if (make) {
    if (const int error = internal::FsStep("mkdir"); error != 0)
      return internal::FileError(DiagId::kCannotWrite, "make", output, error);
    if (mkdir(output.c_str(), 0777) != 0)
      return internal::FileError(DiagId::kCannotWrite, "make", output, errno);
  }
  Status status = transaction_.Commit(options_.sync);
  if (!status && make)
    rmdir(output.c_str());  // fails, as it should, if the new state holds already
  return status;
}

Result<StaticIoTransposeReport> Job::Run() {
  ASSIGN_OR_RETURN(json_text_, ReadFile(folder_.At(kSpecs), size_t{256} << 20));
  ASSIGN_OR_RETURN(IoTransposes specs, ParseIoTransposes(json_text_));
  specs_ = std::move(specs.entries);
  report_.warnings = std::move(specs.warnings);
  TRY(ReadInputs());
  TRY(ReadMarker());
  TRY(DecideState());
  TRY(MatchSpecs());

  const std::string output = folder_.At(kOutput);
  const PathKind kind = KindOfPath(output);
  marker_.made_folder = applied_ ? old_marker_->made_folder : kind == PathKind::kMissing;
  if (kind != PathKind::kMissing) TRY(folder_.CheckInside(fmt::format("{}/x", kOutput)));
  marker_.original_json = applied_ ? old_marker_->original_json : json_text_;

  std::map<PickleId, PickleReplacement> replacements;
  for (Input& input : inputs_) {
    AppliedTranspose& record = marker_.inputs.emplace_back();
    record.spec = input.spec;
    record.original_shape = input.original_shape;
  }
  if (applied_) {
    marker_.inputs = old_marker_->inputs;
  } else {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      marker_.inputs[i].before = ChecksumOf(Bytes(pickle_.value(inputs_[i].id)));
      replacements.emplace(inputs_[i].id,
                           ReplacementFor(inputs_[i].moved, &marker_.inputs[i].after));
    }
    // One array under two names would be moved twice in place of once.
    if (replacements.size() != inputs_.size()) {
      return MakeError(ExitCode::kUnsupported, DiagId::kBadInputValue,
                       "two inputs with transposes share one array",
                       "store a copy of the array under each name");
    }
    if (!inputs_.empty()) TRY(StagePickle(replacements));
  }
  TRY(StageArrays());
  TRY(StageUntransposed());
  TRY(FanOut());
  std::vector<IoTranspose> simplified;
  for (const Input& input : inputs_) simplified.push_back(input.spec);
  // A file that says the same already stays as it is, byte for byte.
  if (!std::equal(specs_.begin(), specs_.end(), simplified.begin(), simplified.end(), SameSpec)) {
    TRY(StageText(kSpecs, WriteIoTransposes(simplified)));
  }
  TRY(StageText(kMarkerName, WriteMarker(marker_)));
  report_.changed = !transaction_.empty();
  TRY(Commit());
  report_.summary = !report_.changed ? "applied already, nothing changed"
                    : applied_       ? "applied already, links and arrays brought up to date"
                                     : fmt::format("{} inputs transposed", inputs_.size());
  return report_;
}

Result<StaticIoTransposeReport> Job::Invert() {
  TRY(ReadMarker());
  if (!old_marker_) {
    return MakeError(ExitCode::kCheckFailed, DiagId::kNothingToInvert,
                     fmt::format("there is no {} in '{}'", kMarkerName, folder_.path()),
                     "only a run of this tool can be undone");
  }
  TRY(ReadInputs());
  TRY(DecideState());
  std::vector<TransposedArray> moved(old_marker_->inputs.size());
  std::map<PickleId, PickleReplacement> replacements;
  for (size_t i = 0; i < moved.size() && applied_; ++i) {
    const AppliedTranspose& record = old_marker_->inputs[i];
    ASSIGN_OR_RETURN(const PickleId id, FindInput(record.spec.input_name));
    const PickleValue& value = pickle_.value(id);
    std::vector<int64_t> inverse(record.spec.transpose.size());
    for (size_t axis = 0; axis < inverse.size(); ++axis) {
      const size_t from = static_cast<size_t>(record.spec.transpose[axis]);
      if (from < inverse.size()) inverse[from] = static_cast<int64_t>(axis);
    }
    ASSIGN_OR_RETURN(moved[i],
                     TransposedArray::Make(*value.array, Bytes(value), value.array->shape, inverse,
                                           std::max<int64_t>(8, value.array->item_bytes * 8)));
    PickleReplacement replacement = ReplacementFor(moved[i], nullptr);
    replacement.array.shape = record.original_shape;
    total_bytes_ += value.array->bytes;
    replacements.emplace(id, std::move(replacement));
  }
  if (!replacements.empty()) TRY(StagePickle(replacements));
  for (const std::string& file : old_marker_->files) {
    TRY(folder_.CheckInside(file));
    if (KindOfPath(folder_.At(file)) == PathKind::kFile)
      TRY(transaction_.StageRemoval(folder_.At(file)));
  }
  for (const MadeLink& link : old_marker_->links) {
    TRY(folder_.CheckInside(link.path));
    if (KindOfPath(folder_.At(link.path)) != PathKind::kLink) continue;
    TRY(link.previous ? transaction_.StageLink(folder_.At(link.path), *link.previous)
                      : transaction_.StageRemoval(folder_.At(link.path)));
  }
  TRY(StageText(kSpecs, old_marker_->original_json));
  TRY(transaction_.StageRemoval(folder_.At(kMarkerName)));
  TRY(Commit());
  if (old_marker_->made_folder)
    rmdir(folder_.At(kOutput).c_str());  // only if nothing else is in it
  report_.changed = true;
  report_.summary = fmt::format("{} inputs transposed back", replacements.size());
  return report_;
}

}  // namespace

Result<StaticIoTransposeReport> RunStaticIoTranspose(const StaticIoTransposeOptions& options) {
  ASSIGN_OR_RETURN(WorkFolder folder, WorkFolder::Open(options.folder));
  TRY(FolderTransaction::Recover(folder.path()));
  for (std::string_view gate : {kSpecs, kInputs}) {
    if (access(folder.At(gate).c_str(), F_OK) == 0) continue;
    StaticIoTransposeReport report;
    report.summary = fmt::format("nothing to do: there is no {} in '{}'", gate, options.folder);
    return report;
  }
  Job job(options, folder);
  return options.invert ? job.Invert() : job.Run();
}

}  // namespace hlokit
