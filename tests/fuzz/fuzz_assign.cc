// Does any readable module make layout assignment crash, hang or eat memory?
// The first byte of the input chooses the options, the rest is the text.

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "hlokit/backend.h"
#include "hlokit/layout_assignment.h"
#include "hlokit/printer.h"
#include "hlokit/reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  uint8_t choice = data[0];
  std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  hlokit::Result<hlokit::Module> module =
      hlokit::ReadText(std::move(text), {.fill_missing_layouts = (choice & 8) == 0});
  if (!module) return 0;
  hlokit::LayoutTrace trace;
  hlokit::LayoutAssignmentOptions options;
  options.reverse_order = (choice & 1) != 0;
  options.channel_table = (choice & 2) == 0;
  options.row_reduction = (choice & 4) != 0;
  if ((choice & 16) != 0) options.trace = &trace;
  if ((choice & 32) != 0) {
    // As `--entry-layouts unset`: every leaf that is no scalar is free.
    hlokit::ComputationLayout layout = *module->config().entry_computation_layout;
    for (hlokit::ShapeId& shape : layout.parameters) shape = module->shapes().ClearLayouts(shape);
    layout.result = module->shapes().ClearLayouts(layout.result);
    options.entry_layout = layout;
  }
  constexpr const char* kDevices[] = {"generic", "cpu", "sm_80", "h100"};
  hlokit::Result<hlokit::Device> device = hlokit::FindDevice(kDevices[choice >> 6]);
  device->flags.conv_fusion = true;
  std::unique_ptr<hlokit::LayoutRules> rules = hlokit::MakeLayoutRules(*device);
  options.rules = rules.get();
  hlokit::Result<hlokit::LayoutAssignmentReport> report = hlokit::AssignLayouts(*module, options);
  if (!report) {
    if (report.error().diagnostics.empty()) std::abort();
    return 0;
  }
  if (hlokit::PrintModule(*module).empty()) std::abort();
  return 0;
}
