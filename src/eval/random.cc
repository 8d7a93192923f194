// Random numbers. rng-bit-generator runs the published counter-based generators Threefry-2x32 and
// Philox-4x32 (Salmon and others, 2011); how XLA numbers its counters is not specified, so the bits
// are ours. rng and rng-get-and-update-state are stand-ins that depend on their operands only.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>

#include "src/eval/handlers.h"
#include "src/eval/native.h"

namespace hlokit::eval {
namespace {

using Words2 = std::array<uint32_t, 2>;
using Words4 = std::array<uint32_t, 4>;

/// Threefry-2x32 with 20 rounds.
Words2 Threefry(Words2 key, Words2 counter) {
  constexpr int kRotations[8] = {13, 15, 26, 6, 17, 29, 16, 24};
  const uint32_t keys[3] = {key[0], key[1], key[0] ^ key[1] ^ 0x1bd11bdau};
  Words2 x = {counter[0] + keys[0], counter[1] + keys[1]};
  for (uint32_t round = 0; round < 20; ++round) {
    x[0] += x[1];
    x[1] = std::rotl(x[1], kRotations[round % 8]) ^ x[0];
    if (round % 4 == 3) {
      const uint32_t group = round / 4 + 1;
      x[0] += keys[group % 3];
      x[1] += keys[(group + 1) % 3] + group;
    }
  }
  return x;
}

/// Philox-4x32 with 10 rounds.
Words4 Philox(Words2 key, Words4 x) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t first = uint64_t{0xd2511f53u} * x[0], second = uint64_t{0xcd9e8d57u} * x[2];
    x = {static_cast<uint32_t>(second >> 32) ^ x[1] ^ key[0], static_cast<uint32_t>(second),
         static_cast<uint32_t>(first >> 32) ^ x[3] ^ key[1], static_cast<uint32_t>(first)};
    key[0] += 0x9e3779b9u;
    key[1] += 0xbb67ae85u;
  }
  return x;
}

Words2 Split(uint64_t x) { return {static_cast<uint32_t>(x), static_cast<uint32_t>(x >> 32)}; }

/// The state as 64-bit words: key first, then the counter.
std::vector<uint64_t> StateWords(const ArrayView& state) {
  std::vector<uint64_t> words(
      std::max<size_t>(3, static_cast<size_t>(state.count * state.width() + 7) / 8));
  std::memcpy(words.data(), state.data, static_cast<size_t>(state.count * state.width()));
  return words;
}

}  // namespace

Status RngBitGenerator(OpContext& c) {
  const std::string_view algorithm =
      EnumNames(AttrType::kRngAlgorithm)[static_cast<size_t>(c.integer(AttrKind::kRngAlgorithm))];
  const ArrayView state = c.in[0];
  if (c.out.size() != 2 || c.out[0].count != state.count || c.out[0].type != state.type) {
    return c.Refuse("the result is not a state and bits");
  }
  const bool philox = algorithm != "rng_three_fry";
  std::vector<uint64_t> words = StateWords(state);
  const ArrayView bits = c.out[1];
  const int64_t bytes = bits.count * bits.width(), step = philox ? 16 : 8;
  int64_t at = 0;
  for (; at < bytes; at += step) {
    const size_t left = static_cast<size_t>(std::min(step, bytes - at));
    if (philox) {
      const Words2 low = Split(words[1]), high = Split(words[2]);
      const Words4 out = Philox(Split(words[0]), {low[0], low[1], high[0], high[1]});
      std::memcpy(bits.data + at, out.data(), left);
    } else {
      const Words2 out = Threefry(Split(words[0]), Split(words[1]));
      std::memcpy(bits.data + at, out.data(), left);
    }
    if (++words[1] == 0) ++words[2];
  }
  if (IsIntegral(bits.type)) WrapPacked(bits.type, bits.data, bits.count);
  std::memcpy(c.out[0].data, words.data(), static_cast<size_t>(state.count * state.width()));
  c.engine.NoteStandIn(c.id, "the bits follow the published generator, not XLA's numbering");
  return {};
}

Status Rng(OpContext& c) {
  c.engine.NoteStandIn(c.id, "random numbers are a function of the operands");
  const ArrayView out = c.out[0];
  if (c.in.size() != 2) return c.Refuse("needs two operands");
  uint64_t key = 0;
  for (const ArrayView& in : c.in) {
    uint64_t bits = 0;
    std::memcpy(&bits, in.data, static_cast<size_t>(std::min(in.width(), 8)));
    key = key * 0x9e3779b97f4a7c15u + bits + 1;
  }
  const bool normal =
      EnumNames(AttrType::kDistribution)[static_cast<size_t>(c.integer(AttrKind::kDistribution))] ==
      "rng_normal";
  if (IsComplex(out.type) || c.in[0].type != out.type || c.in[1].type != out.type) {
    return c.Refuse("not known for these types");
  }
  double a = 0, b = 0;
  ConvertElements(c.in[0].type, c.in[0].data, ElementType::kF64, &a, 1);
  ConvertElements(c.in[1].type, c.in[1].data, ElementType::kF64, &b, 1);
  for (int64_t i = 0; i < out.count; ++i) {
    const Words2 words = Threefry(Split(key), Split(static_cast<uint64_t>(i)));
    const double u = (words[0] + 0.5) / 4294967296.0, v = (words[1] + 0.5) / 4294967296.0;
    const double value =
        normal ? a + b * std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v)
               : a + (b - a) * u;
    const double rounded = IsFloating(out.type) ? value : std::floor(value);
    ConvertElements(ElementType::kF64, &rounded, out.type, out.data + i * out.width(), 1);
  }
  return {};
}

Status RngGetAndUpdateState(OpContext& c) {
  c.engine.NoteStandIn(c.id, "the state is a function of delta");
  const ArrayView out = c.out[0];
  for (int64_t at = 0; at < out.count * out.width(); at += 8) {
    const Words2 words = Threefry(Split(static_cast<uint64_t>(c.integer(AttrKind::kDelta))),
                                  Split(static_cast<uint64_t>(at)));
    std::memcpy(out.data + at, words.data(),
                static_cast<size_t>(std::min<int64_t>(8, out.count * out.width() - at)));
  }
  if (IsIntegral(out.type)) WrapPacked(out.type, out.data, out.count);
  return {};
}

}  // namespace hlokit::eval
