// What do the tests of layout assignment share? Modules are written as text.
#ifndef HLOKIT_TESTS_UNIT_LAYOUT_LAYOUT_TEST_UTIL_H_
#define HLOKIT_TESTS_UNIT_LAYOUT_LAYOUT_TEST_UTIL_H_

#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "hlokit/layout_assignment.h"
#include "hlokit/reader.h"

namespace hlokit::layout_test {

inline Module Read(std::string_view text, const ReadOptions& options = {}) {
  Result<Module> module = ReadText(std::string(text), options);
  if (!module) {
    ADD_FAILURE() << FormatError(module.error());
    return Module();
  }
  return std::move(*module);
}

inline InstId Find(const Module& module, std::string_view name) {
  InstId id = module.FindInstruction(name);
  EXPECT_TRUE(id.valid()) << name;
  return id;
}

/// "{1,0}", or "({1,0}, {})" for a tuple.
inline std::string Layouts(const Module& module, ShapeId shape) {
  const ShapePool& shapes = module.shapes();
  if (!shapes.IsTuple(shape)) return shapes.LayoutText(shapes.layout(shape));
  std::string out = "(";
  for (uint32_t i = 0; i < shapes.element_count(shape); ++i) {
    if (i != 0) out += ", ";
    out += Layouts(module, shapes.element(shape, i));
  }
  return out + ")";
}
inline std::string Layouts(const Module& module, std::string_view name) {
  return Layouts(module, module.shape(Find(module, name)));
}

/// "copy(x)": the opcode and operands of an instruction, without added copies looked through.
inline std::string Operands(const Module& module, std::string_view name) {
  std::string out;
  for (InstId operand : module.operands(Find(module, name))) {
    if (!out.empty()) out += ", ";
    out += module.name(operand);
  }
  return out;
}

struct Outcome {
  Module module;
  LayoutAssignmentReport report;
  LayoutTrace trace;
};

/// Runs the pass with a trace; a failure of the pass fails the test.
inline Outcome Assign(std::string_view text, LayoutAssignmentOptions options = {}) {
  Outcome out;
  out.module = Read(text);
  options.trace = &out.trace;
  Result<LayoutAssignmentReport> report = AssignLayouts(out.module, options);
  if (report) {
    out.report = std::move(*report);
  } else {
    ADD_FAILURE() << FormatError(report.error());
  }
  return out;
}

}  // namespace hlokit::layout_test

#endif  // HLOKIT_TESTS_UNIT_LAYOUT_LAYOUT_TEST_UTIL_H_
