// Is a wrapped module what readers expect, does it keep every byte, and is it read back?
#include "hlokit/neff_wrapper.h"

#include <gtest/gtest.h>

#include "hlokit/attribute_text.h"
#include "hlokit/printer.h"
#include "hlokit/proto.h"
#include "hlokit/reader.h"
#include "hlokit/verifier.h"

namespace hlokit {
namespace {

constexpr char kArrayRoot[] =
    R"(HloModule m, entry_computation_layout={(f32[4,6]{1,0}, f32[6,2]{1,0})->f32[4,2]{1,0}}

ENTRY e {
  x = f32[4,6]{1,0} parameter(0), frontend_attributes={neff_input_names="input0"}
  w = f32[6,2]{1,0} parameter(1), frontend_attributes={neff_input_names="input1"}
  ROOT d = f32[4,2]{1,0} dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}, frontend_attributes={neff_output_names="out"}
}
)";

constexpr char kTupleRoot[] = R"(HloModule t, is_scheduled=true

f {
  p = f32[2]{0} parameter(0)
  ROOT n = f32[2]{0} negate(p)
}

ENTRY e {
  a = f32[2]{0} parameter(0)
  b = f32[0,3]{1,0} parameter(1)
  c = f32[3]{0} parameter(2)
  n.1 = f32[2]{0} call(a), to_apply=f
  ROOT r = (f32[2]{0}, (f32[3]{0}, f32[0,3]{1,0})) custom-call(n.1, c, b), custom_call_target="x"
}
)";

std::string EveryByte() {
  std::string bytes = "\"\\}{\n";
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  return bytes;
}

Module Read(const char* text) {
  Result<Module> module = ReadText(text);
  EXPECT_TRUE(module.has_value()) << FormatError(module.error());
  return std::move(*module);
}

IoTranspose Spec(std::string name, std::vector<int64_t> reshape, std::vector<int64_t> transpose) {
  return {.input_name = std::move(name),
          .reshape = std::move(reshape),
          .transpose = std::move(transpose)};
}

/// Wraps, checks that the result verifies and survives both file forms, and returns it.
Module Wrapped(const Module& module, std::vector<IoTranspose> specs,
               const NeffWrapperOptions& options = {}, const std::string& neff = EveryByte()) {
  Result<std::optional<Module>> wrapped = WrapNeff(module, neff, specs, options);
  if (!wrapped || !*wrapped) {
    ADD_FAILURE() << (wrapped ? "nothing to do" : FormatError(wrapped.error()));
    return Module();
  }
  Status good = VerifyModule(**wrapped);
  EXPECT_TRUE(good) << FormatError(good.error());
  std::string text = PrintModule(**wrapped);
  Result<std::string> proto = WriteProto(**wrapped, {.kind = ProtoKind::kModule});
  EXPECT_TRUE(proto.has_value());
  EXPECT_EQ(DetectProto(*proto), ProtoKind::kModule);
  Result<Module> again = ReadProto(*proto);
  EXPECT_TRUE(again.has_value()) << FormatError(again.error());
  EXPECT_EQ(PrintModule(*again), text);
  Result<Module> from_text = ReadText(text);
  EXPECT_TRUE(from_text.has_value()) << FormatError(from_text.error()) << text;
  for (const Module* copy : {&*again, &*from_text}) {
    Result<WrappedNeff> inside = InspectNeff(*copy);
    EXPECT_TRUE(inside.has_value());
    EXPECT_EQ(inside->payload, neff);
  }
  return std::move(**wrapped);
}

DiagId Refusal(const Module& module, std::vector<IoTranspose> specs, std::string_view words) {
  Result<std::optional<Module>> wrapped = WrapNeff(module, "neff", specs);
  if (wrapped) {
    ADD_FAILURE() << "not refused";
    return DiagId::kInternalError;
  }
  EXPECT_NE(wrapped.error().diagnostics[0].message.find(words), std::string::npos)
      << FormatError(wrapped.error());
  return wrapped.error().diagnostics[0].id;
}

TEST(WrapNeff, TheWholeModule) {
  Module wrapped = Wrapped(Read(kArrayRoot), {Spec("input1", {3, 2, 2}, {2, 0, 1})}, {}, "NEFF");
  EXPECT_EQ(PrintModule(wrapped, PrintOptions::Short()),
            R"(HloModule m, entry_computation_layout={(f32[4,6]{1,0}, f32[6,2]{1,0})->f32[4,2]{1,0}}

io_transpose {
  param = f32[6,2]{1,0} parameter(0)
  reshape = f32[3,2,2]{2,1,0} reshape(param)
  transpose = f32[2,3,2]{2,1,0} transpose(reshape), dimensions={2,0,1}
  ROOT reshape.1 = f32[6,2]{1,0} reshape(transpose)
}

ENTRY e {
  x = f32[4,6]{1,0} parameter(0), frontend_attributes={neff_input_names="input0"}
  w = f32[6,2]{1,0} parameter(1), frontend_attributes={neff_input_names="input1"}
  io_transpose = f32[6,2]{1,0} call(w), to_apply=io_transpose, frontend_attributes={transposable_weight_idx="1"}
  ROOT d = f32[4,2]{1,0} custom-call(x, io_transpose), custom_call_target="AwsNeuronNeff", api_version=API_VERSION_UNSPECIFIED, frontend_attributes={neff_output_names="out",required_transpose="[  {\"input_name\": \"input1\", \"reshape\": [3, 2, 2], \"transpose\": [2, 0, 1]}]",valid_inputs="1,1"}, backend_config="NEFF"
}

)");
}

TEST(WrapNeff, CallsFollowTheirParameters) {
  Module module = Read(kArrayRoot);
  Module wrapped = Wrapped(module, {Spec("w", {12}, {0}), Spec("x", {6, 4}, {1, 0})});
  std::vector<Opcode> order;
  for (InstId id : InstructionPostOrder(wrapped, wrapped.entry()))
    order.push_back(wrapped.opcode(id));
  EXPECT_EQ(order, (std::vector<Opcode>{Opcode::kParameter, Opcode::kCall, Opcode::kParameter,
                                        Opcode::kCall, Opcode::kCustomCall}));
}

TEST(WrapNeff, NothingToDo) {
  Result<std::optional<Module>> wrapped = WrapNeff(Read(kArrayRoot), "neff", {});
  ASSERT_TRUE(wrapped.has_value());
  EXPECT_FALSE(wrapped->has_value());
}

TEST(WrapNeff, ZeroSizedParametersAloneAreEnough) {
  Module wrapped = Wrapped(Read(kTupleRoot), {});
  Result<WrappedNeff> neff = InspectNeff(wrapped);
  ASSERT_TRUE(neff.has_value());
  EXPECT_EQ(neff->valid_inputs, "1,0,1");
  EXPECT_EQ(neff->inputs[1].valid, "0");
  EXPECT_EQ(neff->required_transpose, "");
  EXPECT_TRUE(wrapped.config().is_scheduled);
  // Shape and name are those of the old root; nobody calls the other computations any more.
  EXPECT_EQ(wrapped.name(neff->custom_call), "r");
  EXPECT_TRUE(wrapped.IsRoot(neff->custom_call));
  EXPECT_EQ(wrapped.computation_order().size(), 1u);
}

TEST(WrapNeff, TupleResultsCanBeTakenApart) {
  Module wrapped = Wrapped(Read(kTupleRoot), {}, {.tuple_elements = true});
  InstId root = wrapped.computation(wrapped.entry()).root;
  EXPECT_EQ(wrapped.opcode(root), Opcode::kTuple);
  EXPECT_EQ(wrapped.name(root), "r");
  ASSERT_EQ(wrapped.operand_count(root), 2u);
  EXPECT_EQ(wrapped.opcode(wrapped.operand(root, 1)), Opcode::kGetTupleElement);
  EXPECT_EQ(wrapped.shapes().Text(wrapped.shape(root)), "(f32[2]{0}, (f32[3]{0}, f32[0,3]{1,0}))");
}

TEST(WrapNeff, FormsOfTransposes) {
  Module module = Read(kArrayRoot);
  std::vector<IoTranspose> specs = {Spec("input1", {6, 2}, {1, 0})};
  Module calls = Wrapped(module, specs, {.attribute = false, .reshape_back = false});
  Result<WrappedNeff> neff = InspectNeff(calls);
  ASSERT_TRUE(neff.has_value());
  EXPECT_EQ(neff->required_transpose, "");
  ASSERT_TRUE(neff->inputs[1].call.has_value());
  EXPECT_EQ(calls.shapes().Text(neff->inputs[1].received), "f32[2,6]{1,0}");
  Module attribute = Wrapped(module, specs, {.calls = false, .mask = false});
  neff = InspectNeff(attribute);
  ASSERT_TRUE(neff.has_value());
  EXPECT_EQ(neff->valid_inputs, "input1");
  EXPECT_FALSE(neff->inputs[1].call.has_value());
  ASSERT_TRUE(neff->inputs[1].attribute.has_value());
  EXPECT_EQ(neff->inputs[1].attribute->transpose, (std::vector<int64_t>{1, 0}));
  EXPECT_TRUE(neff->notes.empty());
}

TEST(WrapNeff, IdentityModules) {
  // The root is a parameter: its name is taken.
  Module wrapped = Wrapped(
      Read("HloModule i\n\nENTRY e {\n  ROOT custom-call = f32[2,3]{1,0} parameter(0)\n}\n"),
      {Spec("custom-call", {3, 2}, {1, 0})});
  EXPECT_EQ(wrapped.name(wrapped.computation(wrapped.entry()).root), "custom-call.1");
}

TEST(WrapNeff, NoParameters) {
  Module module = Read("HloModule i\n\nENTRY e {\n  ROOT c = f32[2]{0} constant({1, 2})\n}\n");
  Result<std::optional<Module>> wrapped = WrapNeff(module, "neff", {});
  ASSERT_TRUE(wrapped.has_value());
  EXPECT_FALSE(wrapped->has_value());
  EXPECT_EQ(Refusal(module, {Spec("c", {2}, {0})}, "no input"), DiagId::kMissingInput);
}

TEST(WrapNeff, ConstantInputs) {
  Module module = Read(R"(HloModule c

ENTRY e {
  p = f32[0]{0} parameter(0)
  k = f32[2]{0} constant({1, 2}), frontend_attributes={neff_input_names="const0"}
  other = f32[2]{0} constant({3, 4})
  ROOT s = f32[2]{0} add(k, other)
}
)");
  Module wrapped = Wrapped(module, {});
  Result<WrappedNeff> neff = InspectNeff(wrapped);
  ASSERT_TRUE(neff.has_value());
  ASSERT_EQ(neff->inputs.size(), 2u);
  EXPECT_EQ(neff->valid_inputs, "0,1");
  EXPECT_EQ(neff->inputs[1].name, "const0");
  EXPECT_EQ(neff->inputs[1].parameter, -1);
  EXPECT_NE(PrintModule(wrapped).find("constant({1, 2})"), std::string::npos);
  EXPECT_EQ(InspectNeff(Wrapped(module, {}, {.constant_inputs = false}))->inputs.size(), 1u);
  EXPECT_EQ(Refusal(module, {Spec("const0", {2}, {0})}, "is a constant"), DiagId::kMissingInput);
}

TEST(WrapNeff, Refusals) {
  Module module = Read(kArrayRoot);
  EXPECT_EQ(Refusal(module, {Spec("input1", {6, 3}, {1, 0})},
                    "[NCC_IHNW003] Reshape size mismatch for input: input1"),
            DiagId::kIoReshapeMismatch);
  EXPECT_EQ(Refusal(module, {Spec("input1", {int64_t{1} << 62, 4}, {1, 0})}, "NCC_IHNW003"),
            DiagId::kIoReshapeMismatch);
  EXPECT_EQ(Refusal(module, {Spec("input1", {6, 2}, {1, 1})}, "not a permutation"),
            DiagId::kBadIoTranspose);
  EXPECT_EQ(Refusal(module, {Spec("input1", {6, 2}, {0})}, "not a permutation"),
            DiagId::kBadIoTranspose);
  for (const char* name : {"", "nobody", "../../etc/passwd", "/etc/passwd", "a/b", ".."})
    EXPECT_EQ(Refusal(module, {Spec(name, {12}, {0})}, "the module has no input"),
              DiagId::kMissingInput);
  // One parameter under its two names.
  EXPECT_EQ(Refusal(module, {Spec("input1", {12}, {0}), Spec("w", {12}, {0})},
                    "[NCC_IIOT001] Duplicate io_transpose found for input: w"),
            DiagId::kDuplicateIoTranspose);
  Module tuple = Read("HloModule t\n\nENTRY e {\n  ROOT p = (f32[2]{0}) parameter(0)\n}\n");
  EXPECT_EQ(Refusal(tuple, {Spec("p", {2}, {0})}, "no array of fixed size"),
            DiagId::kBadInputValue);
  Module dynamic = Read("HloModule t\n\nENTRY e {\n  ROOT p = f32[<=2]{0} parameter(0)\n}\n");
  EXPECT_EQ(Refusal(dynamic, {Spec("p", {2}, {0})}, "no array of fixed size"),
            DiagId::kBadInputValue);
  Module twice = Read(
      "HloModule t\n\nENTRY e {\n  a = f32[2]{0} parameter(0), "
      "frontend_attributes={neff_input_names=\"i\"}\n"
      "  b = f32[2]{0} parameter(1), frontend_attributes={neff_input_names=\"i\"}\n  ROOT s = "
      "f32[2]{0} add(a, b)\n}\n");
  EXPECT_EQ(Refusal(twice, {}, "both carry"), DiagId::kMissingInput);
}

TEST(WrapNeff, EmptyPayloadIsNoted) {
  Result<std::optional<Module>> wrapped = WrapNeff(Read(kTupleRoot), "", {});
  ASSERT_TRUE(wrapped.has_value() && wrapped->has_value());
  Result<WrappedNeff> neff = InspectNeff(**wrapped);
  ASSERT_TRUE(neff.has_value());
  EXPECT_EQ(neff->notes, std::vector<std::string>{"the payload is empty"});
}

TEST(InspectNeff, ForeignModules) {
  Result<WrappedNeff> neff = InspectNeff(Read(kArrayRoot));
  ASSERT_FALSE(neff.has_value());
  EXPECT_EQ(neff.error().exit_code, ExitCode::kCheckFailed);
  // A call away from its parameter is fine, the same weight called twice is not.
  constexpr char kTwice[] = R"(HloModule s

t {
  p = f32[2,3]{1,0} parameter(0)
  q = f32[2,3]{1,0} reshape(p)
  ROOT r = f32[3,2]{1,0} transpose(q), dimensions={1,0}
}

ENTRY e {
  a = f32[2,3]{1,0} parameter(0)
  b = f32[2,3]{1,0} parameter(1)
  c = f32[3,2]{1,0} call(a), to_apply=t, frontend_attributes={transposable_weight_idx="0"}
  d = f32[3,2]{1,0} call(a), to_apply=t, frontend_attributes={transposable_weight_idx="1"}
  ROOT n = f32[2]{0} custom-call(c, b%s), custom_call_target="AwsNeuronNeff", backend_config="x"
}
)";
  std::string text = kTwice;
  size_t hole = text.find("%s");
  std::string once = text, twice = text;
  neff = InspectNeff(Read(once.replace(hole, 2, "").c_str()));
  ASSERT_TRUE(neff.has_value());
  EXPECT_EQ(neff->inputs[0].call->transpose, (std::vector<int64_t>{1, 0}));
  EXPECT_TRUE(neff->notes.empty());
  EXPECT_FALSE(InspectNeff(Read(twice.replace(hole, 2, ", d").c_str())).has_value());
}

}  // namespace
}  // namespace hlokit
