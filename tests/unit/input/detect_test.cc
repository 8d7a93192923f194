// Is the format of an input found by its contents, and is everything that holds a module opened?
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "hlokit/file.h"
#include "hlokit/input.h"
#include "hlokit/printer.h"
#include "hlokit/reader.h"

namespace hlokit {
namespace {

constexpr char kText[] = "HloModule m\n\nENTRY e {\n  ROOT p = f32[2]{0} parameter(0)\n}\n";

std::string Proto() { return *WriteProto(*ReadText(kText)); }

TEST(Detect, ByContents) {
  EXPECT_EQ(DetectFormat(kText), InputFormat::kText);
  EXPECT_EQ(DetectFormat("// RUN: x\n\n" + std::string(kText)), InputFormat::kText);
  EXPECT_EQ(DetectFormat("\xef\xbb\xbf" + std::string(kText)), InputFormat::kText);
  EXPECT_EQ(DetectFormat("%r = f32[2] add(f32[2] %a, f32[2] %b)"), InputFormat::kText);
  EXPECT_EQ(DetectFormat("ENTRY e {\n  ROOT p = f32[2]{0} parameter(0)\n}"), InputFormat::kText);
  EXPECT_EQ(DetectFormat(Proto()), InputFormat::kProto);
  EXPECT_EQ(DetectFormat(*ProtoToPbtxt(Proto(), ProtoKind::kHlo)), InputFormat::kPbtxt);
  EXPECT_EQ(DetectFormat("I0521 12:04:45.883483    1509 service.cc:186] " + std::string(kText)),
            InputFormat::kLog);
  EXPECT_EQ(
      DetectFormat("compiling\n*** Begin m.txt ***\n" + std::string(kText) + "*** End m.txt ***\n"),
      InputFormat::kLog);
  EXPECT_EQ(DetectFormat("compiling\n" + std::string(kText)), InputFormat::kLog);
  EXPECT_EQ(DetectFormat(""), InputFormat::kAuto);
  EXPECT_EQ(DetectFormat(std::string("\x00\x01\x02", 3)), InputFormat::kAuto);
}

TEST(Detect, Names) {
  for (InputFormat format : {InputFormat::kAuto, InputFormat::kText, InputFormat::kProto,
                             InputFormat::kPbtxt, InputFormat::kLog}) {
    EXPECT_EQ(InputFormatFromName(InputFormatName(format)), format);
  }
  EXPECT_EQ(InputFormatFromName("x"), std::nullopt);
}

TEST(Load, EveryForm) {
  std::string want = PrintModule(*ReadText(kText));
  std::string proto = Proto();
  std::string pbtxt = *ProtoToPbtxt(proto, ProtoKind::kHlo);
  for (const std::string& contents :
       {std::string(kText), proto, pbtxt, *Compress(kText), *Compress(proto), *Compress(pbtxt),
        "x\n*** Begin m.txt ***\n" + std::string(kText) + "*** End m.txt ***\n"}) {
    Result<LoadedModule> loaded = LoadContents(contents, "in");
    ASSERT_TRUE(loaded.has_value()) << FormatError(loaded.error());
    EXPECT_EQ(PrintModule(loaded->module), want);
  }
}

TEST(Load, TheFormatCanBeForced) {
  LoadOptions options;
  options.format = InputFormat::kText;
  EXPECT_FALSE(LoadContents(Proto(), "in", options).has_value());
  options.format = InputFormat::kProto;
  EXPECT_TRUE(LoadContents(Proto(), "in", options).has_value());
  Result<LoadedModule> wrong = LoadContents(kText, "in", options);
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().exit_code, ExitCode::kCannotParse);
}

TEST(Load, SaysWhatAForeignFileIs) {
  Result<LoadedModule> loaded = LoadContents(std::string("\x28\xb5\x2f\xfd\x00\x01", 6), "in");
  ASSERT_FALSE(loaded.has_value());
  EXPECT_EQ(loaded.error().diagnostics[0].id, DiagId::kUnknownFormat);
  EXPECT_NE(loaded.error().diagnostics[0].message.find("zstd"), std::string::npos);
}

TEST(Gzip, ThereAndBack) {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += std::to_string(i);
  std::string packed = *Compress(text);
  EXPECT_TRUE(IsGzip(packed));
  EXPECT_EQ(*Decompress(packed), text);
  EXPECT_EQ(*Decompress(packed + packed), text + text);  // members one after the other
  EXPECT_EQ(*Decompress(packed + std::string(16, '\0')), text);
  EXPECT_EQ(*Compress(text), packed);
  EXPECT_EQ(*Decompress(*Compress("")), "");
}

TEST(Gzip, DamageIsNoticed) {
  std::string packed = *Compress(std::string(100000, 'x') + kText);
  for (size_t size = 3; size < packed.size(); ++size)
    EXPECT_FALSE(Decompress(packed.substr(0, size)).has_value()) << size;
  packed[packed.size() - 6] = static_cast<char>(packed[packed.size() - 6] ^ 1);  // the check sum
  Result<std::string> out = Decompress(packed);
  ASSERT_FALSE(out.has_value());
  EXPECT_EQ(out.error().diagnostics[0].id, DiagId::kGzipBroken);
  EXPECT_FALSE(Decompress(*Compress(kText) + "garbage").has_value());
}

TEST(Gzip, LimitsItself) {
  std::string packed = *Compress(std::string(size_t{64} << 20, '\0'));
  Result<std::string> out = Decompress(packed, size_t{1} << 20);
  ASSERT_FALSE(out.has_value());
  EXPECT_EQ(out.error().diagnostics[0].id, DiagId::kInputTooLarge);
}

class LoadFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "hlokit_input_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string Put(const std::string& name, const std::string& contents) {
    std::filesystem::path path = std::filesystem::path(folder_) / name;
    std::filesystem::create_directories(path.parent_path());
    EXPECT_TRUE(WriteFile(path.string(), contents).has_value());
    return path.string();
  }
  std::string Named(std::string name) {
    return "HloModule " + name + "\n\nENTRY e {\n  ROOT p = f32[2]{0} parameter(0)\n}\n";
  }
  std::string NameAt(const std::string& spec, std::vector<Diagnostic>* warnings = nullptr) {
    Result<LoadedModule> loaded = LoadModule(spec, {}, warnings);
    if (!loaded) return std::string(DiagCode(loaded.error().diagnostics[0].id));
    return loaded->module.config().name;
  }
  std::string folder_;
};

TEST_F(LoadFiles, FoldersModulesAndStages) {
  Put("module_0001.jit_f.before_optimizations.txt", Named("before"));
  Put("module_0001.jit_f.0000.simplify.after_pipeline-start.before_dce.txt", Named("zero"));
  Put("module_0001.jit_f.0001.simplify.after_dce.before_layout-assignment.txt", Named("one"));
  Put("module_0001.jit_f.0002.simplify.after_layout-assignment.before_pipeline-end.txt",
      Named("two"));
  Put("module_0001.jit_f.cpu_after_optimizations.txt", Named("after"));
  Put("module_0001.jit_f.cpu_after_optimizations.hlo.pb", *WriteProto(*ReadText(Named("proto"))));
  Put("module_0001.jit_f.cpu_after_optimizations-buffer-assignment.txt", "nonsense");
  std::vector<Diagnostic> warnings;
  EXPECT_EQ(NameAt(folder_, &warnings), "before");
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(NameAt(folder_ + ":jit_f"), "before");
  EXPECT_EQ(NameAt(folder_ + ":1:after_optimizations"), "after");
  EXPECT_EQ(NameAt(folder_ + ":1:cpu_after_optimizations.hlo.pb"), "proto");
  EXPECT_EQ(NameAt(folder_ + ":jit_f:2"), "two");
  EXPECT_EQ(NameAt(folder_ + ":jit_f:0002"), "two");
  EXPECT_EQ(NameAt(folder_ + ":jit_f:layout-assignment"), "two");
  EXPECT_EQ(NameAt(folder_ + ":jit_f:before_layout-assignment"), "one");
  EXPECT_EQ(NameAt(folder_ + ":jit_f:nope"), "B023");
  EXPECT_EQ(NameAt(folder_ + ":nope"), "B023");
  Put("module_0002.jit_g.before_optimizations.txt", Named("g"));
  EXPECT_EQ(NameAt(folder_, &warnings), "before");
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].id, DiagId::kSeveralModules);
  EXPECT_EQ(NameAt(folder_ + ":jit_g"), "g");
}

TEST_F(LoadFiles, OtherPaths) {
  EXPECT_EQ(NameAt(folder_), "B022");
  EXPECT_EQ(NameAt(folder_ + "/missing"), "I001");
  std::string path =
      Put("model/graph.hlo", *WriteProto(*ReadText(Named("graph")), {.kind = ProtoKind::kModule}));
  EXPECT_EQ(NameAt(folder_), "graph");
  EXPECT_EQ(NameAt(path), "graph");
  EXPECT_EQ(NameAt(path + ":x"), "U001");
  EXPECT_EQ(NameAt(Put("with:colon.txt", Named("colon"))), "colon");
  std::string log =
      Put("train.log", "a\n*** Begin module_0003.k.before_optimizations.txt ***\n" + Named("k") +
                           "*** End module_0003.k.before_optimizations.txt ***\n"
                           "*** Begin module_0003.k.cpu_after_optimizations.txt ***\n" +
                           Named("k_after") +
                           "*** End module_0003.k.cpu_after_optimizations.txt ***\n");
  EXPECT_EQ(NameAt(log), "k");
  EXPECT_EQ(NameAt(log + ":k:after_optimizations"), "k_after");
  EXPECT_EQ(NameAt(log + ":3:nope"), "B023");
}

}  // namespace
}  // namespace hlokit
