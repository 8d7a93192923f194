// What does a proto become? Each case is a small text proto; expectations follow hlo-proto.md.
#include <gtest/gtest.h>

#include "proto_texts.h"

namespace hlokit {
namespace {

TEST(ReadProto, PlainModule) {
  Result<Module> module = ReadPbtxt(ModuleText(Inst("r", "negate", 1, "operand_ids: 0")));
  ASSERT_TRUE(module.has_value());
  EXPECT_EQ(PrintModule(*module),
            "HloModule m, entry_computation_layout={(f32[4]{0})->f32[4]{0}}\n\n"
            "ENTRY %e (p: f32[4]) -> f32[4] {\n"
            "  %p = f32[4]{0} parameter(0)\n"
            "  ROOT %r = f32[4]{0} negate(%p)\n"
            "}\n\n");
}

TEST(ReadProto, HighHalvesOfIdsMeanNothing) {
  std::string text = ModuleText(Inst("r", "negate", 1, "operand_ids: 21474836480"));
  EXPECT_EQ(LineOf(text), "%r = f32[4]{0} negate(%p)");
}

struct Refused {
  const char* what;
  std::string text;
  const char* code;
};

class RefusedProto : public testing::TestWithParam<Refused> {};

TEST_P(RefusedProto, WithItsCode) {
  EXPECT_EQ(LineOf(GetParam().text), GetParam().code) << GetParam().what;
}

const std::string kNegate = Inst("r", "negate", 1, "operand_ids: 0");

std::string Without(std::string text, const std::string& part) {
  size_t at = text.find(part);
  return at == std::string::npos ? "the part is not there" : text.erase(at, part.size());
}

INSTANTIATE_TEST_SUITE_P(
    Cases, RefusedProto,
    testing::Values(
        Refused{"operand behind its user",
                ModuleText(Inst("r", "negate", 1, "operand_ids: 2") +
                           Inst("late", "negate", 2, "operand_ids: 0")),
                "B005"},
        Refused{"operand that does not exist", ModuleText(Inst("r", "negate", 1, "operand_ids: 9")),
                "B005"},
        Refused{"local id twice", ModuleText(kNegate + Inst("s", "negate", 1, "operand_ids: 0")),
                "B005"},
        Refused{"negative id", ModuleText(Inst("r", "negate", -3, "operand_ids: 0")), "B005"},
        Refused{"no host program shape",
                ModuleText(kNegate).substr(0, ModuleText(kNegate).find("host_program_shape")),
                "B003"},
        Refused{"entry id", Without(ModuleText(kNegate), "entry_computation_id: 7"), "B005"},
        Refused{"root id", ModuleText(Inst("r", "negate", 2, "operand_ids: 0")), "B005"},
        Refused{"name twice", ModuleText(Inst("p", "negate", 1, "operand_ids: 0")), "B006"},
        Refused{"no name", ModuleText(Inst("", "negate", 1, "operand_ids: 0")), "B003"},
        Refused{"no opcode", ModuleText(Inst("r", "", 1, "operand_ids: 0")), "B003"},
        Refused{"operand count", ModuleText(Inst("r", "add", 1, "operand_ids: 0")), "B004"},
        Refused{"precision",
                ModuleText(Inst("r", "negate", 1, "operand_ids: 0 precision_config { }")), "B004"},
        Refused{"dot without numbers", ModuleText(Inst("r", "dot", 1, "operand_ids: [0, 0]")),
                "B003"},
        Refused{"callee that is not there",
                ModuleText(Inst("r", "call", 1, "operand_ids: 0 called_computation_ids: 3")),
                "B005"},
        Refused{"number of callees", ModuleText(Inst("r", "call", 1, "operand_ids: 0")), "B004"},
        Refused{"fusion without kind",
                ModuleText(Inst("r", "fusion", 1, "operand_ids: 0 called_computation_ids: 1"), "",
                           "computations { name: \"g\" id: 1 " + Inst("q", "parameter", 0) + "}\n"),
                "B003"},
        Refused{"both channels",
                ModuleText(Inst("r", "all-gather", 1,
                                "operand_ids: 0 dimensions: 0 channel_id: 2 all_reduce_id: 2")),
                "B004"},
        Refused{
            "payload that is not there",
            ModuleText(Inst("r", "negate", 1, "operand_ids: 0 backend_config_payload { id: 1 }"),
                       "payloads: \"a\""),
            "B004"},
        Refused{"parameter number taken", ModuleText(Inst("q", "parameter", 2) + kNegate), "B004"},
        Refused{"gap in parameter numbers",
                ModuleText(Inst("q", "parameter", 2, "parameter_number: 2") + kNegate), "B004"},
        Refused{"literal too short",
                ModuleText("instructions { name: \"r\" opcode: \"constant\" id: 1 " +
                           Vector("shape") + "literal { " + Vector("shape") + "f32s: 1 } }"),
                "B009"},
        Refused{
            "schedule with a repeat",
            ModuleText(kNegate,
                       "schedule { sequences { key: 7 value { instruction_ids: [0, 1, 1] } } }"),
            "B008"},
        Refused{
            "schedule with a gap",
            ModuleText(kNegate, "schedule { sequences { key: 7 value { instruction_ids: 0 } } }"),
            "B008"},
        Refused{"schedule in a wrong order",
                ModuleText(kNegate,
                           "schedule { sequences { key: 7 value { instruction_ids: [1, 0] } } }"),
                "B008"},
        Refused{"schedule without the entry", ModuleText(kNegate, "schedule { }"), "B008"},
        Refused{"schedule with an unknown id",
                ModuleText(kNegate,
                           "schedule { sequences { key: 7 value { instruction_ids: [0, 5] } } }"),
                "B008"},
        Refused{"tile sharding with too few devices",
                ModuleText(Inst("r", "negate", 1,
                                "operand_ids: 0 sharding { type: OTHER tile_assignment_dimensions: "
                                "4 tile_assignment_devices: [0, 1] }")),
                "B004"},
        Refused{"alias of a parameter that is not there",
                ModuleText(kNegate, "input_output_alias { entries { parameter_number: 3 } }"),
                "B004"}));

struct Accepted {
  std::string fields;  // of the instruction "r"
  const char* opcode;
  const char* line;
};

class AcceptedProto : public testing::TestWithParam<Accepted> {};

TEST_P(AcceptedProto, HasThisLine) {
  std::string scalar = "shape { element_type: F32 layout { } } ";
  std::string add =
      "computations { name: \"g\" id: 1 root_id: 2\ninstructions { name: \"x\" opcode: "
      "\"parameter\" id: 0 " +
      scalar + "}\ninstructions { name: \"y\" opcode: \"parameter\" parameter_number: 1 id: 1 " +
      scalar + "}\ninstructions { name: \"s\" opcode: \"add\" id: 2 operand_ids: [0, 1] " + scalar +
      "}\n}\n";
  std::string text = ModuleText(Inst("r", GetParam().opcode, 1, GetParam().fields),
                                "payloads: \"zero\" payloads: \"{\\\"a\\\":1}\"", add);
  EXPECT_EQ(LineOf(text), GetParam().line);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, AcceptedProto,
    testing::Values(
        Accepted{"operand_ids: [0, 0]", "less-than",
                 "%r = f32[4]{0} compare(%p, %p), direction=LT"},
        Accepted{"operand_ids: 0 called_computation_ids: 1 replica_groups { replica_ids: [0, 1] } "
                 "collective_device_list { replica_groups { replica_ids: [1, 0] } }",
                 "all-reduce",
                 "%r = f32[4]{0} all-reduce(%p), replica_groups={{0,1}}, to_apply=%g"},
        Accepted{"operand_ids: 0 called_computation_ids: 1 iota_collective_device_list { "
                 "num_replica_groups: 2 "
                 "num_devices_per_group: 4 iota_reshape_dims: [2, 1, 4] iota_transpose_perm: [0, "
                 "1, 2] }",
                 "all-reduce",
                 "%r = f32[4]{0} all-reduce(%p), replica_groups=[2,4]<=[8], to_apply=%g"},
        Accepted{"operand_ids: 0 called_computation_ids: 1 all_reduce_id: 3", "all-reduce",
                 "%r = f32[4]{0} all-reduce(%p), channel_id=3, replica_groups={}, to_apply=%g"},
        Accepted{"operand_ids: 0 sharding { }", "negate",
                 "%r = f32[4]{0} negate(%p), sharding={replicated}"},
        Accepted{"operand_ids: 0 sharding { type: OTHER tile_assignment_dimensions: 1 "
                 "tile_assignment_devices: 0 }",
                 "negate", "%r = f32[4]{0} negate(%p), sharding={replicated}"},
        Accepted{"operand_ids: 0 sharding { named_sharding { mesh { axes { name: \"x\" size: 2 } } "
                 "dim_shardings { axes { } } } }",
                 "negate", "%r = f32[4]{0} negate(%p), sharding={mesh['x'=2], [{'x', ?}]}"},
        Accepted{"operand_ids: 0 domain_entry_sharding { } domain_exit_sharding { type: MANUAL }",
                 "domain",
                 "%r = f32[4]{0} domain(%p), domain={kind=\"sharding\", entry={manual}, "
                 "exit={replicated}}"},
        Accepted{"operand_ids: 0 backend_config: \"x\" backend_config_payload { id: 1 }", "negate",
                 "%r = f32[4]{0} negate(%p), backend_config={\"a\":1}"},
        Accepted{"operand_ids: 0 custom_call_target: \"t\"", "custom-call",
                 "%r = f32[4]{0} custom-call(%p), custom_call_target=\"t\", "
                 "api_version=API_VERSION_UNSPECIFIED"},
        Accepted{"operand_ids: 0 original_value { elements { original_array { instruction_name: "
                 "\"old\" shape_index: 1 } } }",
                 "negate", "%r = f32[4]{0} negate(%p), origin={{\"old\" {1}}}"},
        Accepted{"operand_ids: 0 metadata { source_line: 4 }", "negate",
                 "%r = f32[4]{0} negate(%p)"},
        Accepted{"operand_ids: 0 is_cross_program_prefetch: true", "copy-start",
                 "%r = f32[4]{0} copy-start(%p), cross_program_prefetch_index=0"},
        Accepted{"operand_ids: 0 dimensions: 5", "negate", "%r = f32[4]{0} negate(%p)"}));

TEST(ReadProto, NamesBecomeLegal) {
  Result<Module> module = ReadPbtxt(ModuleText(Inst("r%x/1", "negate", 1, "operand_ids: 0")));
  ASSERT_TRUE(module.has_value());
  EXPECT_TRUE(module->FindInstruction("r_x_1").valid());
}

TEST(ReadProto, UnknownOpcodesAreKeptUnlessStrict) {
  std::string text = ModuleText(Inst("r", "new-thing", 1, "operand_ids: 0"));
  EXPECT_EQ(LineOf(text), "%r = f32[4]{0} new-thing(%p)");
  EXPECT_EQ(LineOf(text, {.strict = true}), "B007");
}

TEST(ReadProto, LiteralsStandInTheOrderOfTheirLayout) {
  std::string shape =
      "shape { element_type: S32 dimensions: [2, 3] layout { minor_to_major: [0, 1] } } ";
  std::string text = ModuleText("instructions { name: \"r\" opcode: \"constant\" id: 1 " + shape +
                                "literal { " + shape + "s32s: [1, 2, 3, 4, 5, 6] } }");
  EXPECT_EQ(LineOf(text), "%r = s32[2,3]{0,1} constant({ { 1, 3, 5 }, { 2, 4, 6 } })");
}

TEST(ReadProto, SubByteElementsCountInTheirLowBits) {
  std::string shape = "shape { element_type: S4 dimensions: 3 layout { minor_to_major: 0 } } ";
  std::string text = ModuleText("instructions { name: \"r\" opcode: \"constant\" id: 1 " + shape +
                                "literal { " + shape + "s4s: \"\\010\\007\\377\" } }");
  EXPECT_EQ(LineOf(text), "%r = s4[3]{0} constant({-8, 7, -1})");
}

TEST(ReadProto, AConstantWithoutLiteralIsElided) {
  Result<Module> module = ReadPbtxt(
      ModuleText("instructions { name: \"r\" opcode: \"constant\" id: 1 " + Vector("shape") + "}"));
  ASSERT_TRUE(module.has_value());
  EXPECT_TRUE(module->literal(module->literal_of(module->FindInstruction("r"))).elided);
}

TEST(ReadProto, StoredOrderIsTheOrderOfIdsOrOfTheFile) {
  std::string body =
      Inst("x", "negate", 2, "operand_ids: 0") + Inst("r", "abs", 1, "operand_ids: 0");
  auto order = [&](bool renumber) {
    Result<Module> module = ReadPbtxt(ModuleText(body), {.renumber = renumber});
    std::string out;
    for (InstId id : module->computation(module->entry()).instructions)
      out += std::string(module->name(id)) + " ";
    return out;
  };
  EXPECT_EQ(order(false), "p r x ");
  EXPECT_EQ(order(true), "p x r ");
}

TEST(ReadProto, RenumberedSchedulesNameIdsAsWritten) {
  std::string text = "name: \"m\" computations { name: \"e\" id: 7 root_id: 30064771073 " +
                     Inst("p", "parameter", 0) + Inst("r", "negate", 1, "operand_ids: 0") +
                     "} entry_computation_id: 7 host_program_shape { " + Vector("parameters") +
                     Vector("result") + "} schedule { sequences { key: 7 value { instruction_ids: ";
  EXPECT_EQ(LineOf(text + "[0, 1] } } }", {.renumber = true}), "%r = f32[4]{0} negate(%p)");
  EXPECT_EQ(LineOf(text + "[30064771072, 30064771073] } } }", {.renumber = true}), "B008");
  EXPECT_EQ(LineOf(text + "[30064771072, 30064771073] } } }"), "%r = f32[4]{0} negate(%p)");
}

TEST(ReadProto, MessagesNameThePlace) {
  Result<Module> module = ReadPbtxt(ModuleText(Inst("r", "add", 1, "operand_ids: 0")));
  ASSERT_FALSE(module.has_value());
  const std::string& message = module.error().diagnostics[0].message;
  EXPECT_NE(message.find("instruction 'r' of 'e'"), std::string::npos) << message;
  EXPECT_NE(message.find("byte "), std::string::npos) << message;
}

TEST(DetectProto, TellsTheWrappersApart) {
  std::string bytes = *PbtxtToProto(ModuleText(kNegate), ProtoKind::kModule);
  auto wrap = [](std::string_view payload, std::string_view more = "") {
    std::string out = "\x0a";
    for (size_t n = payload.size();; n >>= 7) {
      out += static_cast<char>(n < 0x80 ? n : (n & 0x7f) | 0x80);
      if (n < 0x80) break;
    }
    return out + std::string(payload) + std::string(more);
  };
  EXPECT_EQ(DetectProto(bytes), ProtoKind::kModule);
  EXPECT_EQ(DetectProto(wrap(bytes)), ProtoKind::kHlo);
  EXPECT_EQ(DetectProto(wrap(wrap(bytes))), ProtoKind::kSnapshot);
  // 2: { 2: 8, 5: 1 } is a configuration, 2: { 2: {1: 0} } inputs of a partition.
  EXPECT_EQ(DetectProto(wrap(bytes, std::string("\x12\x04\x10\x08\x28\x01"))),
            ProtoKind::kModuleWithConfig);
  std::string unoptimized = wrap(bytes, std::string("\x12\x04\x12\x02\x10\x03"));
  EXPECT_EQ(DetectProto(unoptimized), ProtoKind::kUnoptimizedSnapshot);
  std::string stream = wrap(unoptimized).substr(1) + "abc";
  EXPECT_EQ(DetectProto(stream), ProtoKind::kUnoptimizedSnapshot);
  EXPECT_EQ(DetectProto("HloModule m"), std::nullopt);
  EXPECT_EQ(DetectProto(""), std::nullopt);
  ProtoWrapper wrapper;
  Result<Module> module = ReadProto(stream, {}, &wrapper);
  ASSERT_TRUE(module.has_value());
  EXPECT_EQ(wrapper.tail, "abc");
  EXPECT_EQ(DetectProto(*WriteProto(*module, wrapper)), ProtoKind::kUnoptimizedSnapshot);
}

}  // namespace
}  // namespace hlokit
