// Damaged protos: errors, never crashes, and no memory for what is only claimed.
#include <gtest/gtest.h>

#include <random>

#include "proto_texts.h"

namespace hlokit {
namespace {

/// A module with a bit of everything that has lengths in it.
std::string Sample() {
  Result<Module> module = ReadText(
      "HloModule m, is_scheduled=true, input_output_alias={ {}: (0, {}, may-alias) }, "
      "frontend_attributes={k=\"v\"}\n\n"
      "add {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT s = f32[] add(x, y)\n}\n\n"
      "ENTRY e {\n  p = f32[4,6]{0,1:T(8,128)} parameter(0)\n  z = f32[] constant(0)\n"
      "  c = (s32[3], (pred[], c64[2])) constant((  {1, 2, 3}, ( true, {(1, 2), (3, 4)} ) ))\n"
      "  d = f32[6,6] dot(p, p), lhs_contracting_dims={0}, rhs_contracting_dims={0}, "
      "metadata={op_name=\"n\" stack_frame_id=1}\n"
      "  w = f32[2,3] reduce-window(p, z), window={size=2x2 stride=2x2}, to_apply=add\n"
      "  n = f32[4,6] negate(p), sharding={devices=[2,1,2]0,1,2,3 last_tile_dim_replicate}, "
      "origin={{\"o\" {1}}}\n"
      "  a = f32[4,6] all-reduce(n), replica_groups=[2,4]<=[4,2]T(1,0), to_apply=add, "
      "backend_config={\"a\":1}\n"
      "  ROOT r = f32[4,6]{0,1} custom-call(a), custom_call_target=\"t\", "
      "operand_layout_constraints={f32[4,6]{0,1}}, "
      "literal=s4[3]{0} {1, 2, 3}\n}\n");
  EXPECT_TRUE(module.has_value()) << FormatError(module.error());
  return *WriteProto(*module);
}

void MustNotCrash(const std::string& bytes) {
  Result<Module> module = ReadProto(bytes);
  if (module) {
    PrintModule(*module);
    Result<std::string> written = WriteProto(*module);
    if (written) {
      ReadProto(*written);
      ProtoToJson(*written, ProtoKind::kHlo);
    }
  } else {
    ASSERT_FALSE(module.error().diagnostics.empty());
    ASSERT_FALSE(module.error().diagnostics[0].message.empty());
  }
  ProtoToPbtxt(bytes, ProtoKind::kHlo);
  ProtoToJson(bytes, ProtoKind::kHlo);
}

TEST(Damage, EveryTruncationIsAnError) {
  std::string sample = Sample();
  for (size_t size = 0; size < sample.size(); ++size) {
    Result<Module> module = ReadProto(sample.substr(0, size));
    EXPECT_FALSE(module.has_value()) << size;
  }
}

TEST(Damage, BitFlipsInEveryByte) {
  std::string sample = Sample();
  for (size_t i = 0; i < sample.size(); ++i) {
    for (int bit : {0, 3, 7}) {
      std::string bytes = sample;
      bytes[i] = static_cast<char>(bytes[i] ^ (1 << bit));
      MustNotCrash(bytes);
    }
  }
}

TEST(Damage, BytesReplacedAndRemoved) {
  std::string sample = Sample();
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = sample;
    for (int k = 0; k < 4; ++k) {
      size_t at = random() % bytes.size();
      switch (random() % 3) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes.erase(at, random() % 8);
          break;
        default:
          bytes.insert(at, std::string(1 + random() % 6,
                                       static_cast<char>(random() % 2 == 0 ? 0xff : 0x0a)));
      }
    }
    MustNotCrash(bytes);
  }
}

TEST(Damage, ClaimsWithoutBytesCostNothing) {
  // 2^40 elements, but one byte of them.
  std::string shape =
      "shape { element_type: U8 dimensions: 1099511627776 layout { minor_to_major: 0 } } ";
  EXPECT_EQ(LineOf(ModuleText("instructions { name: \"r\" opcode: \"constant\" id: 1 " + shape +
                              "literal { " + shape + "u8s: \"x\" } }")),
            "B009");
  // A local id of 2^31-1 asks for no table of that size.
  EXPECT_EQ(LineOf(ModuleText(Inst("r", "negate", 1, "operand_ids: 0") +
                              Inst("s", "negate", 2147483647, "operand_ids: 0"))),
            "%r = f32[4]{0} negate(%p)");
}

TEST(Damage, DeepShapesAndLiterals) {
  std::string shape;
  for (int i = 0; i < 50000; ++i) {
    // { tuple_shapes: {…} }, written from the inside out
    std::string outer = "\x10\x0d\x22";
    size_t n = shape.size();
    for (; n >= 0x80; n >>= 7) outer += static_cast<char>((n & 0x7f) | 0x80);
    outer += static_cast<char>(n);
    shape = outer + shape;
    if (shape.size() > 20000) break;
  }
  std::string bytes = *PbtxtToProto(
      "name: \"m\" computations { name: \"e\" instructions { name: \"r\" opcode: \"tuple\" 3: "
      "\"x\" } }",
      ProtoKind::kModule);
  Result<Module> module = ReadProto(bytes, {.kind = ProtoKind::kModule});
  EXPECT_FALSE(module.has_value());
  // The same with the deep shape in the place of "x", every length around it put right.
  auto field = [](char tag, const std::string& payload) {
    std::string out(1, tag);
    size_t n = payload.size();
    for (; n >= 0x80; n >>= 7) out += static_cast<char>((n & 0x7f) | 0x80);
    out += static_cast<char>(n);
    return out + payload;
  };
  std::string instruction = field('\x0a', "r") + field('\x12', "tuple") + field('\x1a', shape);
  std::string computation = field('\x0a', "e") + field('\x12', instruction);
  std::string deep =
      field('\x0a', "m") + field('\x1a', computation) + field('\x22', field('\x12', ""));
  module = ReadProto(deep, {.kind = ProtoKind::kModule});
  ASSERT_FALSE(module.has_value());
  EXPECT_EQ(module.error().diagnostics[0].id, DiagId::kProtoTooDeep) << FormatError(module.error());
  EXPECT_FALSE(ProtoToPbtxt(deep, ProtoKind::kModule).has_value());
  EXPECT_FALSE(ProtoToJson(deep, ProtoKind::kModule).has_value());
}

}  // namespace
}  // namespace hlokit
