// Is every diagnostic of the verifier described in the docs and provoked by a test?
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "gtest/gtest.h"
#include "hlokit/diagnostic.h"

namespace hlokit {
namespace {

constexpr std::string_view kCodes[] = {
#define HLOKIT_DIAGNOSTIC(id, code, summary) code,
#include "hlokit/diagnostics_verify.def"
#undef HLOKIT_DIAGNOSTIC
};

std::string ReadAll(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Registry, CodesAreUniqueAndInOrder) {
  EXPECT_TRUE(std::ranges::is_sorted(kCodes));
  EXPECT_EQ(std::set(std::begin(kCodes), std::end(kCodes)).size(), std::size(kCodes));
}

TEST(Registry, EveryCodeIsDescribed) {
  std::string page = ReadAll(std::string(HLOKIT_SOURCE_DIR) + "/docs/reference/verify.md");
  ASSERT_FALSE(page.empty());
  for (std::string_view code : kCodes) {
    EXPECT_NE(page.find("| " + std::string(code) + " |"), std::string::npos)
        << code << " has no row in verify.md";
  }
}

TEST(Registry, EveryCodeIsProvokedByATest) {
  std::string tests;
  for (const std::filesystem::directory_entry& file :
       std::filesystem::directory_iterator(std::string(HLOKIT_SOURCE_DIR) + "/tests/unit/verify")) {
    if (file.path().filename() != "registry_test.cc") tests += ReadAll(file.path());
  }
  for (std::string_view code : kCodes) {
    EXPECT_NE(tests.find(code), std::string::npos) << "no test expects " << code;
  }
}

}  // namespace
}  // namespace hlokit
