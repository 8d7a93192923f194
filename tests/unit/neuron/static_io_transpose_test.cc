// Is a work folder always in the old or in the new state? Ends the process before every single
// operation on the file system, makes every one of them fail, and looks at the folder with a reader
// that knows nothing of transactions.

#include "src/neuron/static_io_transpose.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>

#include "hlokit/file.h"
#include "hlokit/pickle.h"
#include "src/tensor/fs_step.h"

namespace hlokit {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSpecs =
    R"([{"input_name": "w", "reshape": [2, 2, 3, 2], "transpose": [2, 3, 0, 1]}])";

void Write(const fs::path& path, std::string_view text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

std::string Read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

ArrayInfo Info(std::vector<int64_t> shape) {
  ArrayInfo info{.descr = "<u2", .item_bytes = 2, .shape = std::move(shape)};
  for (int64_t dim : info.shape) info.elements *= dim;
  info.bytes = info.elements * 2;
  return info;
}

/// A pickle of {"w": 4x6 array 0…23, "b": 3 elements}.
std::string Inputs() {
  static std::vector<uint16_t> w(24), b = {7, 8, 9};
  std::iota(w.begin(), w.end(), uint16_t{0});
  PickleDocument document;
  const auto text = [&](std::string_view s) {
    return document.Add({.kind = PickleKind::kString, .text = s});
  };
  const auto array = [&](const std::vector<uint16_t>& data, std::vector<int64_t> shape) {
    return document.Add({.kind = PickleKind::kArray,
                         .text = {reinterpret_cast<const char*>(data.data()), data.size() * 2},
                         .array = std::make_shared<ArrayInfo>(Info(std::move(shape)))});
  };
  const std::vector<PickleId> items = {text("w"), array(w, {4, 6}), text("b"), array(b, {3})};
  document.set_root(document.Add({.kind = PickleKind::kDict, .items = items}));
  std::string out;
  EXPECT_TRUE(WritePickle(document, {}, [&](std::span<const std::byte> bytes) -> Status {
    out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  }));
  return out;
}

class StaticIoTranspose : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "hlokit-sit-XXXXXX").string();
    root_ = mkdtemp(name.data());
    Build();
  }
  void TearDown() override {
    internal::SetFsHook({});
    fs::remove_all(root_);
  }

  void Build() {
    fs::remove_all(root_ / "work");
    Write(root_ / "work/io_transposes.json", kSpecs);
    Write(root_ / "work/inp-000.p", Inputs());
    Write(root_ / "work/value_b.npy", "any bytes");
    Write(root_ / "work/value_b.npy.meta", "meta");
    fs::create_directories(root_ / "work/sg00");
    fs::create_directories(root_ / "work/nc0/sg01");
    fs::create_symlink("../nowhere", root_ / "work/sg00/value_w.npy");
  }

  fs::path Work(const std::string& name = "") const { return root_ / "work" / name; }

  Result<StaticIoTransposeReport> Run(bool invert = false, bool verify = true) {
    return RunStaticIoTranspose(
        {.folder = Work().string(), .verify = verify && !invert, .invert = invert, .sync = false});
  }

  /// Everything that a reader sees when it opens files.
  std::map<std::string, std::string> Visible() const {
    // Keys as they are spelled, contents through the links.
    std::map<std::string, std::string> result;
    for (const char* folder : {"", "transposed_inputs/", "sg00/", "nc0/sg01/"}) {
      for (const char* name :
           {"inp-000.p", "io_transposes.json", "value_w.npy", "value_b.npy", "value_b.npy.meta"}) {
        std::error_code error;
        const fs::path path = Work(std::string(folder) + name);
        if (fs::is_regular_file(path, error)) result[std::string(folder) + name] = Read(path);
      }
    }
    return result;
  }

  fs::path root_;
};

std::vector<uint16_t> Elements(std::string_view text) {
  std::vector<uint16_t> elements(text.size() / 2);
  std::memcpy(elements.data(), text.data(), elements.size() * 2);
  return elements;
}

// reshape [4,6] -> [2,2,3,2], transpose (2,3,0,1) is folded to [4,6] transposed: element (i,j) of
// the result is 6j+i.
std::vector<uint16_t> Expected() {
  std::vector<uint16_t> expected;
  for (uint16_t i = 0; i < 6; ++i) {
    for (uint16_t j = 0; j < 4; ++j) expected.push_back(static_cast<uint16_t>(6 * j + i));
  }
  return expected;
}

TEST_F(StaticIoTranspose, WholeFlow) {
  const Result<StaticIoTransposeReport> report = Run();
  ASSERT_TRUE(report) << FormatError(report.error());
  EXPECT_TRUE(report->changed);
  EXPECT_EQ(Read(Work("io_transposes.json")),
            "[\n  {\"input_name\": \"w\", \"reshape\": [4, 6], \"transpose\": [1, 0]}\n]\n");
  const Result<PickleDocument> pickle = PickleDocument::Open(Work("inp-000.p").string());
  ASSERT_TRUE(pickle);
  const PickleValue& w = pickle->value(*pickle->Find(pickle->root(), "w"));
  EXPECT_EQ(w.array->shape, (std::vector<int64_t>{6, 4}));
  EXPECT_EQ(Elements(w.text), Expected());
  EXPECT_EQ(Elements(pickle->value(*pickle->Find(pickle->root(), "b")).text),
            (std::vector<uint16_t>{7, 8, 9}));
  const Result<NpyFile> npy = NpyFile::Open(Work("transposed_inputs/value_w.npy").string());
  ASSERT_TRUE(npy);
  EXPECT_EQ(npy->array().shape, (std::vector<int64_t>{6, 4}));
  EXPECT_EQ(std::memcmp(npy->data().data(), w.text.data(), w.text.size()), 0);
  EXPECT_FALSE(fs::is_symlink(Work("inp-000.p")));
  EXPECT_FALSE(fs::is_symlink(Work("transposed_inputs/value_w.npy")));
  const fs::path real = fs::canonical(Work());
  EXPECT_EQ(fs::read_symlink(Work("transposed_inputs/value_b.npy")), real / "value_b.npy");
  for (const char* sg : {"sg00/", "nc0/sg01/"}) {
    EXPECT_EQ(fs::read_symlink(Work(std::string(sg) + "value_w.npy")),
              real / "transposed_inputs/value_w.npy");
    EXPECT_EQ(fs::read_symlink(Work(std::string(sg) + "value_b.npy")), real / "value_b.npy");
    EXPECT_EQ(fs::read_symlink(Work(std::string(sg) + "value_b.npy.meta")),
              real / "value_b.npy.meta");
  }
  EXPECT_FALSE(fs::exists(Work(".hlokit-transaction")));
  EXPECT_FALSE(fs::exists(Work(".hlokit-transaction-done")));
}

TEST_F(StaticIoTranspose, SecondRunChangesNothingAndInvertUndoes) {
  const auto before = Visible();
  ASSERT_TRUE(Run());
  const auto after = Visible();
  std::map<std::string, fs::file_time_type> times;
  for (const auto& [name, text] : after) times[name] = fs::last_write_time(Work(name));
  const Result<StaticIoTransposeReport> second = Run();
  ASSERT_TRUE(second) << FormatError(second.error());
  EXPECT_FALSE(second->changed) << second->summary;
  EXPECT_EQ(Visible(), after);
  for (const auto& [name, text] : after)
    EXPECT_EQ(fs::last_write_time(Work(name)), times[name]) << name;
  const Result<StaticIoTransposeReport> inverse = Run(true);
  ASSERT_TRUE(inverse) << FormatError(inverse.error());
  EXPECT_EQ(Visible(), before);
  EXPECT_EQ(fs::read_symlink(Work("sg00/value_w.npy")), "../nowhere");
  EXPECT_FALSE(fs::exists(fs::symlink_status(Work("nc0/sg01/value_w.npy"))));
  EXPECT_FALSE(fs::exists(Work("transposed_inputs")));
  const Result<StaticIoTransposeReport> nothing = Run(true);
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().diagnostics[0].id, DiagId::kNothingToInvert);
  ASSERT_TRUE(Run());
  EXPECT_EQ(Visible(), after);
}

TEST_F(StaticIoTranspose, VerifyAfterPlainRunAddsArraysOnly) {
  ASSERT_TRUE(Run(false, false));
  EXPECT_FALSE(fs::exists(Work("transposed_inputs/value_w.npy")));
  const std::string pickle = Read(Work("inp-000.p"));
  ASSERT_TRUE(Run());
  EXPECT_EQ(Read(Work("inp-000.p")), pickle);
  const Result<NpyFile> npy = NpyFile::Open(Work("transposed_inputs/value_w.npy").string());
  ASSERT_TRUE(npy);
  EXPECT_EQ(Elements({reinterpret_cast<const char*>(npy->data().data()), npy->data().size()}),
            Expected());
  // Fresh inputs are transposed again; other inputs are refused.
  Write(Work("inp-000.p"), Inputs());
  ASSERT_TRUE(Run());
  EXPECT_EQ(Read(Work("inp-000.p")), pickle);
  std::string other = Inputs();
  other[other.find(std::string("\x01\x00\x02\x00", 4))] = 'x';
  Write(Work("inp-000.p"), other);
  const Result<StaticIoTransposeReport> unknown = Run();
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().diagnostics[0].id, DiagId::kUnknownState);
  EXPECT_EQ(Read(Work("inp-000.p")), other);
}

/// Runs the job in a child that ends (or fails) at operation number `at`; false when the job has
/// fewer operations.
bool InterruptedRun(const std::string& folder, bool invert, int at, int error) {
  const pid_t child = fork();
  if (child == 0) {
    int count = 0;
    internal::SetFsHook([&](std::string_view) {
      if (++count != at) return 0;
      if (error == 0) _exit(17);
      return error;
    });
    const auto report = RunStaticIoTranspose(
        {.folder = folder, .verify = !invert, .invert = invert, .sync = false});
    _exit(count < at ? 0 : report ? 18 : 19);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  const int code = WEXITSTATUS(status);
  const bool expected = code == 0 || (error == 0 ? code == 17 : code == 18 || code == 19);
  EXPECT_TRUE(expected) << code;
  return code != 0;
}

TEST_F(StaticIoTranspose, KilledOrFailingAnywhereLeavesOldOrNew) {
  const auto old_state = Visible();
  ASSERT_TRUE(Run());
  const auto new_state = Visible();
  ASSERT_NE(old_state, new_state);
  for (const bool invert : {false, true}) {
    for (const int error : {0, ENOSPC}) {
      int at = 1;
      bool seen_old = false, seen_new = false;
      for (;; ++at) {
        Build();
        if (invert) {
          ASSERT_TRUE(Run());
        }
        if (!InterruptedRun(Work().string(), invert, at, error)) break;
        const auto visible = Visible();
        EXPECT_TRUE(visible == old_state || visible == new_state)
            << (invert ? "invert" : "run") << " operation " << at << " error " << error;
        seen_old = seen_old || visible == old_state;
        seen_new = seen_new || visible == new_state;
        // The next run completes or repeats the work and leaves no traces.
        if (!invert) {
          const auto report = Run();
          ASSERT_TRUE(report) << at << FormatError(report.error());
          EXPECT_EQ(Visible(), new_state) << at;
        } else if (visible == new_state) {
          ASSERT_TRUE(Run(true));
          EXPECT_EQ(Visible(), old_state) << at;
        } else {
          ASSERT_FALSE(Run(true));  // was undone already
          EXPECT_EQ(Visible(), old_state) << at;
        }
        EXPECT_FALSE(fs::exists(Work(".hlokit-transaction")));
        EXPECT_FALSE(fs::exists(Work(".hlokit-transaction-done")));
      }
      EXPECT_GT(at, 40);  // the hook was really asked
      EXPECT_TRUE(seen_old && seen_new);
    }
  }
}

TEST_F(StaticIoTranspose, Gates) {
  fs::remove(Work("inp-000.p"));
  const Result<StaticIoTransposeReport> report = Run();
  ASSERT_TRUE(report);
  EXPECT_FALSE(report->changed);
  EXPECT_EQ(Read(Work("io_transposes.json")), kSpecs);
}

DiagId CodeOf(const Result<StaticIoTransposeReport>& report) {
  return report ? DiagId::kInternalError : report.error().diagnostics[0].id;
}

TEST_F(StaticIoTranspose, NeverLeavesTheFolder) {
  Write(root_ / "outside/sg/keep", "x");
  const auto specs = [&](std::string name) {
    Build();
    Write(Work("io_transposes.json"),
          R"([{"input_name": ")" + name + R"(", "reshape": [4, 6], "transpose": [1, 0]}])");
  };
  for (const char* name : {"../w", "a/b", "..", ".", "", "/etc/x", "a\\u0000b", "a\\nb"}) {
    specs(name);
    EXPECT_EQ(CodeOf(Run()), DiagId::kBadInputName) << name;
  }
  specs("missing");
  EXPECT_EQ(CodeOf(Run()), DiagId::kMissingInput);
  Build();
  fs::create_directory_symlink(root_ / "outside/sg", Work("sg77"));
  EXPECT_EQ(CodeOf(Run()), DiagId::kOutsideWorkFolder);
  Build();
  fs::create_directory_symlink(root_ / "outside", Work("nc5"));
  EXPECT_EQ(CodeOf(Run()), DiagId::kOutsideWorkFolder);
  Build();
  fs::create_directory_symlink(root_ / "outside", Work("transposed_inputs"));
  EXPECT_EQ(CodeOf(Run()), DiagId::kOutsideWorkFolder);
  // A hostile record: paths to remove that lead out.
  Build();
  ASSERT_TRUE(Run());
  std::string marker = Read(Work(".static-io-transpose.json"));
  const std::string own = "transposed_inputs/value_w.npy";
  marker.replace(marker.find("\"" + own + "\""), own.size() + 2, "\"../outside/sg/keep\"");
  Write(Work(".static-io-transpose.json"), marker);
  EXPECT_EQ(CodeOf(Run(true)), DiagId::kOutsideWorkFolder);
  EXPECT_EQ(Read(root_ / "outside/sg/keep"), "x");
  EXPECT_EQ(std::distance(fs::recursive_directory_iterator(root_ / "outside"), {}), 2);
  // inp-000.p as a link to a file outside: the link is replaced, the file stays.
  Build();
  Write(root_ / "outside/inputs", Inputs());
  fs::remove(Work("inp-000.p"));
  fs::create_symlink(root_ / "outside/inputs", Work("inp-000.p"));
  ASSERT_TRUE(Run());
  EXPECT_EQ(Read(root_ / "outside/inputs"), Inputs());
  EXPECT_FALSE(fs::is_symlink(Work("inp-000.p")));
}

TEST_F(StaticIoTranspose, BadInput) {
  Write(Work("io_transposes.json"), "[{]");
  EXPECT_EQ(CodeOf(Run()), DiagId::kBadJson);
  Build();
  Write(Work("inp-000.p"), "\x80\x04].");
  EXPECT_EQ(CodeOf(Run()), DiagId::kBadInputValue);
  Build();
  Write(Work("io_transposes.json"),
        R"([{"input_name": "w", "reshape": [5, 5], "transpose": [1, 0]}])");
  EXPECT_EQ(CodeOf(Run()), DiagId::kIoReshapeMismatch);
  Build();
  Write(Work("io_transposes.json"),
        R"([{"input_name": "w", "reshape": [8, 3], "transpose": [1, 0]}])");
  EXPECT_EQ(CodeOf(Run()), DiagId::kIllegalIoReshape);
  Build();
  Write(Work("sg00/value_b.npy"), "a file of the user");
  EXPECT_EQ(CodeOf(Run()), DiagId::kInTheWay);
  EXPECT_EQ(Read(Work("sg00/value_b.npy")), "a file of the user");
  Build();
  fs::create_directories(Work("transposed_inputs"));
  fs::create_symlink("loop.npy", Work("transposed_inputs/loop.npy"));
  EXPECT_EQ(CodeOf(Run()), DiagId::kCannotOpen);
  Build();
  Write(Work(".static-io-transpose.json"), "{}");
  EXPECT_EQ(CodeOf(Run()), DiagId::kBadMarker);
  EXPECT_EQ(CodeOf(RunStaticIoTranspose({.folder = Work("none").string()})), DiagId::kCannotOpen);
}

}  // namespace
}  // namespace hlokit
