// Does the verifier survive modules that no reader and no pass should make? Random edits of a sound
// module: other shapes, operands, attributes, opcodes. HLOKIT_VERIFY_TEXTS names a folder with more
// modules.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "gtest/gtest.h"
#include "tests/unit/verify/findings.h"

namespace hlokit {
namespace {

constexpr const char* kText = R"(HloModule m, replica_count=2, input_output_alias={ {0}: (0, {}) }
red {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
ge {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=GE
}
fused {
  p = f32[4,6]{1,0} parameter(0)
  q = f32[4,6]{0,1} negate(p)
  r = f32[24]{0} bitcast(q)
  ROOT t = (f32[4,6]{1,0}, f32[24]{0}) tuple(p, r)
}
body {
  p = (f32[4,6], s32[]) parameter(0), sharding={{devices=[2,1]0,1}, {replicated}}
  x = f32[4,6] get-tuple-element(p), index=0
  i = s32[] get-tuple-element(p), index=1
  ROOT t = (f32[4,6], s32[]) tuple(x, i)
}
cond {
  p = (f32[4,6], s32[]) parameter(0)
  ROOT t = pred[] constant(false)
}
ENTRY e {
  x = f32[4,6]{1,0} parameter(0)
  k = f32[2,2,6,3] parameter(1)
  img = f32[5,8,8,6] parameter(2)
  i = s32[] parameter(3)
  idx = s32[3,1] parameter(4)
  z = f32[] constant(0)
  wt = (f32[4,6], s32[]) tuple(x, i)
  w = (f32[4,6], s32[]) while(wt), condition=cond, body=body
  d = f32[4,4] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  conv = f32[5,7,7,3] convolution(img, k), window={size=2x2}, dim_labels=b01f_01io->b01f
  rw = f32[2,3] reduce-window(x, z), window={size=2x2 stride=2x2}, to_apply=red
  sas = f32[4,6] select-and-scatter(x, rw, z), window={size=2x2 stride=2x2}, select=ge, scatter=red
  g = f32[3,6] gather(x, idx), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,6}
  sc = f32[4,6] scatter(x, idx, g), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=red
  pad = f32[6,6] pad(x, z), padding=1_1x0_0
  sl = f32[2,3] slice(x), slice={[0:4:2], [1:4]}
  ds = f32[1,2] dynamic-slice(x, i, i), dynamic_slice_sizes={1,2}
  tr = f32[6,4] transpose(x), dimensions={1,0}
  bc = f32[4,6,2] broadcast(x), dimensions={0,1}
  cat = f32[8,6] concatenate(x, x), dimensions={0}
  ag = f32[8,6] all-gather(x), dimensions={0}, replica_groups={{0,1}}
  aa = f32[4,6] all-to-all(x), dimensions={1}, replica_groups=[1,2]<=[2]
  cp = f32[4,6] collective-permute(x), source_target_pairs={{0,1},{1,0}}
  ar = f32[4,6] all-reduce(x), to_apply=red, replica_groups={{0,1}}
  f = (f32[4,6]{1,0}, f32[24]{0}) fusion(x), kind=kLoop, calls=fused
  srt = f32[4,6] sort(x), dimensions={1}, to_apply=ge
  ff = c64[4,4] fft(x), fft_type=RFFT, fft_length={6}
  cc = f32[4,6] custom-call(x), custom_call_target="t", operand_layout_constraints={f32[4,6]{1,0}}, output_to_operand_aliasing={{}: (0, {})}
  ROOT t = (f32[4,6], f32[4,4]) tuple(x, d), origin={({"a"}, {"b" {1}})}
}
)";

std::vector<std::string> Texts() {
  std::vector<std::string> texts = {kText};
  const char* folder = std::getenv("HLOKIT_VERIFY_TEXTS");
  if (folder == nullptr) return texts;
  for (const std::filesystem::directory_entry& file : std::filesystem::directory_iterator(folder)) {
    std::ifstream in(file.path());
    texts.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return texts;
}

class Smasher {
 public:
  Smasher(Module& module, std::mt19937& random) : module_(module), random_(random) {}
  void Edit() {
    InstId id(Pick(module_.instruction_count()));
    switch (Pick(7)) {
      case 0:
        module_.set_shape(id, module_.shape(InstId(Pick(module_.instruction_count()))));
        break;
      case 1:
        if (module_.operand_count(id) != 0) {
          module_.SetOperand(id, static_cast<uint32_t>(Pick(module_.operand_count(id))), Other(id));
        }
        break;
      case 2:
        if (module_.opcode(id) != Opcode::kParameter)
          module_.set_opcode(id, static_cast<Opcode>(Pick(kOpcodeCount)));
        break;
      case 3:
        EditAttribute(id);
        break;
      case 4:
        module_.SetOperands(id, std::vector<InstId>(Pick(4), Other(id)));
        break;
      case 5:
        module_.set_shape(id, RandomShape());
        break;
      default:
        EditAttribute(id);
    }
  }

 private:
  size_t Pick(size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random_); }
  /// Mostly of the same computation and earlier, sometimes not.
  InstId Other(InstId id) {
    const std::vector<InstId>& list = module_.computation(module_.computation_of(id)).instructions;
    return Pick(20) == 0 ? InstId(Pick(module_.instruction_count())) : list[Pick(list.size())];
  }
  int64_t Number() {
    constexpr int64_t kNumbers[] = {
        0, 1, 2, 3, 4, 5, 6, 7, -1, INT64_MAX, INT64_MIN, int64_t{1} << 40, 1000000};
    return kNumbers[Pick(std::size(kNumbers))];
  }
  ShapeId RandomShape() {
    std::vector<int64_t> sizes(Pick(5));
    for (int64_t& size : sizes) size = Number() & INT64_MAX;
    if (Pick(4) == 0 && !sizes.empty()) sizes[0] = kUnboundedSize;
    std::vector<uint8_t> dynamic(sizes.size(), Pick(3) == 0 ? 1 : 0);
    if (!sizes.empty() && sizes[0] == kUnboundedSize) dynamic[0] = 1;
    ShapePool& shapes = module_.shapes();
    std::vector<int64_t> order(sizes.size() + (Pick(8) == 0 ? 1 : 0));
    for (size_t i = 0; i < order.size(); ++i)
      order[i] = Pick(8) == 0 ? Number() : static_cast<int64_t>(order.size() - 1 - i);
    LayoutId layout = Pick(4) == 0 ? LayoutId() : shapes.Layout(order);
    ShapeId array = shapes.Array(static_cast<ElementType>(1 + Pick(32)), sizes, layout, dynamic);
    if (Pick(4) != 0) return array;
    return shapes.Tuple(std::vector<ShapeId>(Pick(4), array));
  }
  void EditAttribute(InstId id) {
    std::span<const Attr> attrs = module_.attributes(id);
    if (attrs.empty()) return;
    Attr attr = attrs[Pick(attrs.size())];
    AttrType type = Info(attr.kind).type;
    if (attr.kind == AttrKind::kParameterNumber || attr.kind == AttrKind::kConstantLiteral) return;
    if (Pick(6) == 0) {
      module_.RemoveAttr(id, attr.kind);
    } else if (type == AttrType::kWindow || type == AttrType::kRanges ||
               type == AttrType::kPadding || type == AttrType::kIntList) {
      std::vector<int64_t> values(module_.ints(attr).begin(), module_.ints(attr).end());
      if (!values.empty()) values[Pick(values.size())] = Number();
      size_t step = type == AttrType::kWindow    ? size_t{kWindowFields}
                    : type == AttrType::kIntList ? 1
                                                 : 3;
      if (Pick(4) == 0) values.resize(values.size() + step);
      module_.SetAttr(id, module_.IntsAttribute(attr.kind, values));
    } else if (type == AttrType::kInt || type == AttrType::kInt32) {
      module_.SetAttr(id, Attr::Integer(attr.kind, Number()));
    } else if (IsText(type)) {
      std::string text(module_.str(attr.text()));
      constexpr std::string_view kBytes = "{}[],=0123456789 ()\"'<T:-x";
      if (!text.empty()) text[Pick(text.size())] = kBytes[Pick(kBytes.size())];
      if (Pick(4) == 0) text.resize(Pick(text.size() + 1));
      module_.SetAttr(id, module_.TextAttribute(attr.kind, text));
    } else if (attr.kind == AttrKind::kCalledComputations && attr.high > 0) {
      module_.SetCalledComputation(id, static_cast<uint32_t>(Pick(attr.high)),
                                   CompId(Pick(module_.computation_count())));
    }
  }

  Module& module_;
  std::mt19937& random_;
};

TEST(Survival, TheUneditedModuleIsSound) { EXPECT_EQ(Codes(kText), ""); }

TEST(Survival, RandomEdits) {
  std::mt19937 random(20261130);
  const VerifierOptions all = {.allow_mixed_precision = false,
                               .opcodes_keep_layouts = true,
                               .strict_layouts = true,
                               .broadcast_dimensions_sorted = true,
                               .reshape_is_bitcast = true,
                               .allow_bitcast_to_have_different_size = true,
                               .call_thread_names = true,
                               .names_unchanged = true,
                               .no_host_memory_space = true,
                               .no_collective_deadlocks = true,
                               .natural_element_sizes = true};
  std::vector<std::string> texts = Texts();
  size_t refused = 0;
  for (int round = 0; round < 4000; ++round) {
    Result<Module> module = ReadText(texts[static_cast<size_t>(round) % texts.size()]);
    if (!module) continue;
    Smasher smasher(*module, random);
    for (int edit = 0; edit < 1 + round % 4; ++edit) smasher.Edit();
    std::string codes = CodesOf(*module, round % 2 == 0 ? VerifierOptions{} : all);
    EXPECT_EQ(CodesOf(*module, round % 2 == 0 ? VerifierOptions{} : all), codes);
    refused += codes.empty() ? 0 : 1;
  }
  EXPECT_GT(refused, 2000u);
}

}  // namespace
}  // namespace hlokit
