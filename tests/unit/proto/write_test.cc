// What is written: ids and orders, and does everything survive the way there and back?
#include <gtest/gtest.h>

#include "proto_texts.h"

namespace hlokit {
namespace {

std::string Pbtxt(const Module& module) {
  Result<std::string> bytes = WriteProto(module, {.kind = ProtoKind::kModule});
  if (!bytes) return FormatError(bytes.error());
  return ProtoToPbtxt(*bytes, ProtoKind::kModule).value_or("broken");
}

TEST(WriteProto, IdsAndOrders) {
  // Example G01 of hlo-text-cases.md: file order is post-order (dead k first), ids follow the text.
  Result<Module> module = ReadText(
      "HloModule m, is_scheduled=true\n\nf {\n  ROOT x = f32[] parameter(0)\n}\n\nENTRY e {\n  p = "
      "f32[] parameter(0)\n"
      "  k = f32[2] constant({1, 2})\n  ROOT r = f32[] call(p), to_apply=f\n}\n");
  ASSERT_TRUE(module.has_value());
  std::string text = Pbtxt(*module);
  size_t k = text.find("name: \"k\"");
  size_t p = text.find("name: \"p\"", text.find("name: \"e\""));
  size_t r = text.find("name: \"r\"");
  EXPECT_LT(k, p);
  EXPECT_LT(p, r);
  EXPECT_NE(text.find("id: 4294967297", k), std::string::npos);
  EXPECT_NE(text.find("called_computation_ids: 0"), std::string::npos);
  EXPECT_NE(text.find("root_id: 4294967298"), std::string::npos);
  EXPECT_NE(text.find("schedule {\n  sequences {\n    key: 0\n    value {\n      instruction_ids: "
                      "0\n    }\n  }\n"
                      "  sequences {\n    key: 1\n    value {\n      instruction_ids: 4294967296\n"
                      "      instruction_ids: 4294967297\n      instruction_ids: 4294967298\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("input_output_alias {\n}\nbuffer_donor {\n}\nfrontend_attributes {\n}\n"),
            std::string::npos);
}

class TextRoundTrip : public testing::TestWithParam<const char*> {};

TEST_P(TextRoundTrip, SurvivesTheProtoForm) {
  std::string text =
      std::string("HloModule m\n\n") +
      "add {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT s = f32[] add(x, y)\n}\n\n"
      "less {\n  lx = f32[] parameter(0)\n  ly = f32[] parameter(1)\n  ROOT lt = pred[] "
      "compare(lx, ly), direction=LT\n}\n\n"
      "ENTRY e {\n  p = f32[4,6]{1,0} parameter(0)\n  q = f32[6,8]{1,0} parameter(1)\n  v = "
      "f32[4]{0} parameter(2)\n"
      "  i = s32[2,1]{1,0} parameter(3)\n  z = f32[] constant(0)\n  img = f32[2,8,8,3]{3,2,1,0} "
      "parameter(4)\n"
      "  ker = f32[3,3,3,5]{3,2,1,0} parameter(5)\n  j = s32[] parameter(6)\n  t = token[] "
      "after-all()\n  ROOT r = " +
      GetParam() + "\n}\n";
  Result<Module> module = ReadText(text);
  ASSERT_TRUE(module.has_value()) << FormatError(module.error());
  std::string printed = PrintModule(*module);
  Result<std::string> bytes = WriteProto(*module);
  ASSERT_TRUE(bytes.has_value()) << FormatError(bytes.error());
  Result<Module> again = ReadProto(*bytes);
  ASSERT_TRUE(again.has_value()) << FormatError(again.error());
  EXPECT_EQ(PrintModule(*again), printed);
  EXPECT_EQ(WriteProto(*again), *bytes);
  // The text form holds the same message.
  Result<std::string> pbtxt = ProtoToPbtxt(*bytes, ProtoKind::kHlo);
  ASSERT_TRUE(pbtxt.has_value());
  EXPECT_EQ(DetectPbtxt(*pbtxt), ProtoKind::kHlo);
  EXPECT_EQ(PbtxtToProto(*pbtxt, ProtoKind::kHlo), *bytes);
}

INSTANTIATE_TEST_SUITE_P(
    Lines, TextRoundTrip,
    testing::Values(
        "f32[4,8]{0,1} dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
        "operand_precision={high,default}, "
        "algorithm=dot_bf16_bf16_f32_x9",
        "f32[6]{0} reduce(p, z), dimensions={0}, to_apply=add, sharding={devices=[2]0,1}",
        "f32[2,6,6,5]{3,2,1,0} convolution(img, ker), window={size=3x3 stride=1x1 "
        "rhs_reversal=1x0}, "
        "dim_labels=b01f_01io->b01f, convolution_kind=dgrad",
        "f32[4,6]{1,0} sort(p), dimensions={1}, is_stable=true, to_apply=less",
        "f32[8,6]{1,0} pad(p, z), padding=1_3x0_0", "f32[4,6]{1,0} pad(p, z), padding=-1_1_0x0_0_0",
        "f32[2,3]{1,0} slice(p), slice={[0:4:2], [3:6]}",
        "f32[2,6]{1,0} gather(p, i), offset_dims={1}, collapsed_slice_dims={0}, "
        "start_index_map={0}, index_vector_dim=1, "
        "slice_sizes={1,6}, indices_are_sorted=true",
        "f32[4,6]{1,0} reverse(p), dimensions={0,1}, metadata={op_type=\"a\" op_name=\"b\\\"c\" "
        "source_file=\"f.py\" "
        "source_line=3 source_column=5}",
        "f32[2,3]{1,0} reduce-window(p, z), window={size=2x2 stride=2x2}, to_apply=add",
        "f32[4,6]{1,0} custom-call(p), custom_call_target=\"t\", "
        "operand_layout_constraints={f32[4,6]{0,1}}, "
        "custom_call_has_side_effect=true, literal=s32[2]{0} {1, 2}, "
        "api_version=API_VERSION_TYPED_FFI, "
        "backend_config={\"a\": {\"b\": 1}}",
        "(f32[4,6]{1,0}, f32[4]{0}) custom-call(p, v), custom_call_target=\"t\", "
        "output_to_operand_aliasing={{0}: (0, {}), {1}: (1, {})}, called_computations={add}, "
        "schedule=SCHEDULE_LATEST",
        "f32[4,6]{1,0} all-reduce(p), channel_id=3, replica_groups=[2,4]<=[4,2]T(1,0), "
        "use_global_device_ids=true, to_apply=add",
        "f32[4,6]{1,0} all-reduce(p), replica_groups={{0,1},{2,3}}, to_apply=add",
        "f32[4,6]{1,0} collective-permute(p), channel_id=1, source_target_pairs={{0,1},{1,0}}",
        "f32[4,6]{1,0} negate(p), sharding={devices=[2,1,2]0,1,2,3 last_tile_dim_replicate}",
        "f32[4,6]{1,0} negate(p), sharding={devices=[2,2]<=[4] shard_as 3}",
        "f32[4,6]{1,0} negate(p), sharding={mesh['x'=2,'y'=4], [{'x'}, {'y':(1)2, ?}], "
        "replicated={'y':(2)2}}",
        "f32[4,6]{1,0} negate(p), frontend_attributes={a=\"1\",b={x}}, "
        "statistics={visualizing_index=1,s=2.5}",
        "f32[4,6]{1,0} negate(p), origin={{\"old\" {1}}}, backend_config=\"plain \\001 text\"",
        "f32[4,6]{1,0} tanh(p), result_accuracy={tolerance={atol=0.5,rtol=0.25,ulps=3}}",
        "f32[4,6]{1,0} exponential(p), result_accuracy={mode=highest}",
        "(f32[4,2]{1,0}, s32[4,2]{1,0}) topk(p), k=2, largest=true, is_stable=false",
        "f32[4,6]{1,0} domain(p), domain={kind=\"sharding\", entry={manual}, exit={maximal "
        "device=3}}",
        "((f32[4,6]), f32[4,6], token[]) infeed(t), infeed_config=\"c\"",
        "token[] outfeed(p, t), outfeed_shape=f32[4,6]{1,0}, outfeed_config=\"d\"",
        "f32[4,6]{1,0} abs(p), control-predecessors={v, z}", "f32[24]{0:T(8)(2)E(8)S(5)} copy(p)",
        "c64[2]{0} constant({(1, -2), (nan, 0)})",
        "bf16[2,2]{0,1} constant({ { 1, 2 }, { 3, 4 } })", "s4[3]{0:E(4)} constant({-8, 7, -1})",
        "pred[2]{0} constant({1, 0})", "u64[2]{0} constant({18446744073709551615, 0})",
        "f8e4m3fn[2]{0} constant({1, nan})"));

TEST(WriteProto, WhatTextCannotSaySurvives) {
  // Unknown fields at every level, fields that text does not show, ids with gaps, legacy fields.
  std::string text = ModuleText(Inst("r", "negate", 1,
                                     "operand_ids: 0 metadata { op_name: \"n\" "
                                     "size_of_generated_code_in_bytes: 7 77: 5 } 300: \"kept\" "
                                     "frontend_attributes { } statistics_viz { } dimensions: 5"),
                                "id: 12 is_dynamic: true device_type: \"gpu\" "
                                "cross_program_prefetches { parameter: 0 offset: 64 } "
                                "spmd_output_sharding { } pjrt_id: 0 500: 0x0000000000000009");
  std::string bytes = *PbtxtToProto(text, ProtoKind::kModule);
  Result<Module> module = ReadProto(bytes, {.kind = ProtoKind::kModule});
  ASSERT_TRUE(module.has_value()) << FormatError(module.error());
  std::string out = Pbtxt(*module);
  for (const char* part :
       {"size_of_generated_code_in_bytes: 7", "77: 5", "300: \"kept\"", "dimensions: 5\n",
        "id: 12\n", "is_dynamic: true", "device_type: \"gpu\"", "offset: 64",
        "spmd_output_sharding {", "pjrt_id: 0", "500: 0x0000000000000009", "id: 7\n"}) {
    EXPECT_NE(out.find(part), std::string::npos) << part << "\n" << out;
  }
  // Once more: nothing grows, nothing gets lost.
  Result<std::string> written = WriteProto(*module, {.kind = ProtoKind::kModule});
  Result<Module> again = ReadProto(*written, {.kind = ProtoKind::kModule});
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(WriteProto(*again, {.kind = ProtoKind::kModule}), *written);
}

TEST(WriteProto, AnEditDropsWhatStoodBesideIt) {
  std::string text = ModuleText(
      Inst("r", "negate", 1, "operand_ids: 0 backend_config_payload { value: \"old\" } 300: 1"));
  Result<Module> module = ReadPbtxt(text);
  ASSERT_TRUE(module.has_value());
  EXPECT_NE(Pbtxt(*module).find("backend_config_payload"), std::string::npos);
  InstId r = module->FindInstruction("r");
  module->SetAttr(r, module->TextAttribute(AttrKind::kBackendConfig, "new"));
  std::string out = Pbtxt(*module);
  EXPECT_EQ(out.find("backend_config_payload"), std::string::npos);
  EXPECT_NE(out.find("backend_config: \"new\""), std::string::npos);
  EXPECT_NE(out.find("300: 1"), std::string::npos);
}

TEST(WriteProto, LegacyFieldsGoWhenTheirSuccessorChanges) {
  std::string text = ModuleText(
      Inst("r", "all-gather", 1, "operand_ids: 0 dimensions: 0 replica_groups { replica_ids: 0 }"));
  Result<Module> module = ReadPbtxt(text);
  ASSERT_TRUE(module.has_value());
  EXPECT_NE(Pbtxt(*module).find("    replica_groups {\n      replica_ids: 0"), std::string::npos);
  module->SetAttr(module->FindInstruction("r"),
                  module->TextAttribute(AttrKind::kReplicaGroups, "{{0,1}}"));
  std::string out = Pbtxt(*module);
  EXPECT_EQ(out.find("    replica_groups {\n      replica_ids: 0\n    }"), std::string::npos)
      << out;
  EXPECT_NE(out.find("collective_device_list"), std::string::npos);
}

TEST(WriteProto, WrappersKeepTheirOtherFields) {
  std::string hlo = "hlo_module { " + ModuleText(Inst("r", "negate", 1, "operand_ids: 0")) +
                    " } buffer_assignment { 3: \"x\" }";
  std::string bytes = *PbtxtToProto(
      "hlo { " + hlo + " } arguments { shape { element_type: TOKEN } } execution_platform: \"cpu\"",
      ProtoKind::kSnapshot);
  ProtoWrapper wrapper;
  Result<Module> module = ReadProto(bytes, {}, &wrapper);
  ASSERT_TRUE(module.has_value()) << FormatError(module.error());
  EXPECT_EQ(wrapper.kind, ProtoKind::kSnapshot);
  std::string out = *ProtoToPbtxt(*WriteProto(*module, wrapper), ProtoKind::kSnapshot);
  EXPECT_NE(out.find("execution_platform: \"cpu\""), std::string::npos);
  EXPECT_NE(out.find("buffer_assignment {\n    3: \"x\""), std::string::npos) << out;
  EXPECT_NE(out.find("element_type: TOKEN"), std::string::npos);
}

TEST(WriteProto, UnknownAttributesHaveNoProtoForm) {
  Result<Module> module = ReadText("ENTRY e {\n  ROOT p = f32[] parameter(0), brand_new=5\n}");
  ASSERT_TRUE(module.has_value());
  Result<std::string> bytes = WriteProto(*module);
  ASSERT_FALSE(bytes.has_value());
  EXPECT_EQ(bytes.error().diagnostics[0].id, DiagId::kProtoCannotWrite);
  EXPECT_EQ(bytes.error().exit_code, ExitCode::kUnsupported);
}

TEST(WriteProto, StackFramesAndAliases) {
  std::string text =
      "HloModule m, input_output_alias={ {}: (0, {}, must-alias) }, buffer_donor={ (1, {}) }, "
      "entry_computation_layout={(f32[2,3]{0,1}, f32[2,3]{1,0})->f32[2,3]{0,1}}, "
      "frontend_attributes={k=\"v\"}\n\n"
      "FileNames\n1 \"a.py\"\n\nFunctionNames\n1 \"f\"\n\nFileLocations\n"
      "1 {file_name_id=1 function_name_id=1 line=3 end_line=4 column=5 end_column=6}\n\n"
      "StackFrames\n1 {file_location_id=1 parent_frame_id=1}\n\n\n"
      "ENTRY %e (p: f32[2,3], q: f32[2,3]) -> f32[2,3] {\n"
      "  %q = f32[2,3]{1,0} parameter(1)\n"
      "  %p = f32[2,3]{1,0} parameter(0)\n"
      "  ROOT %r = f32[2,3]{1,0} negate(%p), metadata={op_name=\"n\" stack_frame_id=1}\n}\n\n";
  Result<Module> module = ReadText(text);
  ASSERT_TRUE(module.has_value());
  EXPECT_EQ(PrintModule(*module), text);
  EXPECT_EQ(PrintModule(*ReadProto(*WriteProto(*module))), text);
}

}  // namespace
}  // namespace hlokit
