// Do asynchronous pairs and channels fit together? hlo-verifier.md sections 5.2 and 5.3.
#include <algorithm>
#include <unordered_map>

#include "src/verify/checker.h"

namespace hlokit {
namespace {

/// What may use the start (or update) of a pair.
std::span<const Opcode> Finishers(Opcode opcode) {
  static constexpr Opcode kAsync[] = {Opcode::kAsyncUpdate, Opcode::kAsyncDone};
  static constexpr Opcode kAllReduce[] = {Opcode::kAllReduceDone};
  static constexpr Opcode kAllGather[] = {Opcode::kAllGatherDone};
  static constexpr Opcode kPermute[] = {Opcode::kCollectivePermuteDone};
  static constexpr Opcode kCopy[] = {Opcode::kCopyDone};
  static constexpr Opcode kSend[] = {Opcode::kSendDone, Opcode::kTuple};
  static constexpr Opcode kRecv[] = {Opcode::kRecvDone, Opcode::kTuple};
  switch (opcode) {
    case Opcode::kAsyncStart:
    case Opcode::kAsyncUpdate:
      return kAsync;
    case Opcode::kAllReduceStart:
      return kAllReduce;
    case Opcode::kAllGatherStart:
      return kAllGather;
    case Opcode::kCollectivePermuteStart:
      return kPermute;
    case Opcode::kCopyStart:
      return kCopy;
    case Opcode::kSend:
      return kSend;
    case Opcode::kRecv:
      return kRecv;
    default:
      return {};
  }
}

/// What the end (or update) of a pair may finish.
std::span<const Opcode> Starters(Opcode opcode) {
  static constexpr Opcode kAsync[] = {Opcode::kAsyncStart, Opcode::kAsyncUpdate};
  static constexpr Opcode kAllReduce[] = {Opcode::kAllReduceStart};
  static constexpr Opcode kAllGather[] = {Opcode::kAllGatherStart};
  static constexpr Opcode kPermute[] = {Opcode::kCollectivePermuteStart};
  static constexpr Opcode kCopy[] = {Opcode::kCopyStart};
  static constexpr Opcode kSend[] = {Opcode::kSend, Opcode::kGetTupleElement};
  static constexpr Opcode kRecv[] = {Opcode::kRecv, Opcode::kGetTupleElement};
  switch (opcode) {
    case Opcode::kAsyncUpdate:
    case Opcode::kAsyncDone:
      return kAsync;
    case Opcode::kAllReduceDone:
      return kAllReduce;
    case Opcode::kAllGatherDone:
      return kAllGather;
    case Opcode::kCollectivePermuteDone:
      return kPermute;
    case Opcode::kCopyDone:
      return kCopy;
    case Opcode::kSendDone:
      return kSend;
    case Opcode::kRecvDone:
      return kRecv;
    default:
      return {};
  }
}

std::string Names(std::span<const Opcode> opcodes) {
  std::string out;
  for (Opcode opcode : opcodes) {
    if (!out.empty()) out += " or ";
    out += OpcodeText(opcode);
  }
  return out;
}

bool Contains(std::span<const Opcode> opcodes, Opcode opcode) {
  return std::ranges::find(opcodes, opcode) != opcodes.end();
}

}  // namespace

void Checker::CheckAsyncPairs() {
  ForEach([&](InstId id) {
    if (!Finishers(module_.opcode(id)).empty()) CheckAsyncStart(id);
    if (!Starters(module_.opcode(id)).empty()) CheckAsyncDone(id);
  });
}

void Checker::CheckAsyncStart(InstId id) {
  // Inside an async computation the pair may be finished by the caller.
  if (module_.IsRoot(id) && callers_[module_.computation_of(id).value].async.valid()) return;
  std::span<const Opcode> wanted = Finishers(module_.opcode(id));
  size_t count = 0;
  InstId user;
  for (InstId candidate : module_.users(id)) {
    if (module_.IsCustomCall(candidate, "control_dep")) continue;
    ++count;
    user = candidate;
  }
  if (count != 1) {
    Report(id, DiagId::kAsyncUser, "{} needs exactly one user ({}), it has {}",
           OpcodeText(module_.opcode(id)), Names(wanted), count);
  } else if (!Contains(wanted, module_.opcode(user))) {
    Report(id, DiagId::kAsyncUser, "the user %{} is {}; it must be {}", Name(user),
           OpcodeText(module_.opcode(user)), Names(wanted));
  }
}

void Checker::CheckAsyncDone(InstId id) {
  std::span<const Opcode> wanted = Starters(module_.opcode(id));
  if (module_.operand_count(id) != 1) {
    Report(id, DiagId::kAsyncOperand, "{} takes one operand, not {}",
           OpcodeText(module_.opcode(id)), module_.operand_count(id));
    return;
  }
  InstId operand = module_.operand(id, 0);
  if (!Contains(wanted, module_.opcode(operand))) {
    Report(id, DiagId::kAsyncOperand, "the operand %{} is {}; it must be {}", Name(operand),
           OpcodeText(module_.opcode(operand)), Names(wanted));
  }
}

void Checker::CheckAsyncComputations() {
  for (CompId comp : module_.computation_order()) {
    const ComputationData& data = module_.computation(comp);
    if (data.dead || !callers_[comp.value].async.valid()) continue;
    // Groups of collectives, and send or recv, may hold more: they are what runs asynchronously.
    size_t others = 0;
    bool only_transfers = true;
    for (InstId id : data.instructions) {
      if (module_.IsDead(id) || id == data.root) continue;
      Opcode opcode = module_.opcode(id);
      if (opcode == Opcode::kParameter) continue;
      ++others;
      only_transfers &= IsTransferOrCollective(opcode);
    }
    if (others == 0 || only_transfers || module_.opcode(data.root) == Opcode::kOptimizationBarrier)
      continue;
    ReportComputation(
        comp, DiagId::kAsyncComputation,
        "an async computation holds parameters and one more instruction, here are {} others",
        others);
  }
}

bool Checker::IsTransferOrCollective(Opcode opcode) {
  switch (opcode) {
    case Opcode::kSend:
    case Opcode::kSendDone:
    case Opcode::kRecv:
    case Opcode::kRecvDone:
    case Opcode::kAfterAll:
    case Opcode::kTuple:
    case Opcode::kGetTupleElement:
    case Opcode::kAllGather:
    case Opcode::kAllReduce:
    case Opcode::kAllToAll:
    case Opcode::kCollectiveBroadcast:
    case Opcode::kCollectivePermute:
    case Opcode::kRaggedAllToAll:
    case Opcode::kReduceScatter:
      return true;
    default:
      return false;
  }
}

void Checker::CheckAsyncThreads(InstId id) {
  auto thread_of = [&](InstId inst) {
    std::string_view thread = module_.TextAttr(inst, AttrKind::kAsyncExecutionThread);
    return thread.empty() ? std::string_view("main") : thread;
  };
  if (module_.opcode(id) == Opcode::kAsyncStart) {
    std::string_view callee = module_.execution_thread(module_.to_apply(id));
    if (callee != thread_of(id)) {
      Report(id, DiagId::kThreadMismatch,
             "async_execution_thread is \"{}\", but %{} runs on \"{}\"", thread_of(id),
             Name(module_.to_apply(id)), callee);
    }
    return;
  }
  // The later parts may leave the thread out; when they name one it is that of the start.
  if (module_.operand_count(id) != 1 || !module_.HasAttr(id, AttrKind::kAsyncExecutionThread))
    return;
  InstId before = module_.operand(id, 0);
  if (!Contains(Starters(Opcode::kAsyncDone), module_.opcode(before))) return;
  if (module_.HasAttr(before, AttrKind::kAsyncExecutionThread) &&
      thread_of(before) != thread_of(id)) {
    Report(id, DiagId::kThreadMismatch, "async_execution_thread is \"{}\", but %{} has \"{}\"",
           thread_of(id), Name(before), thread_of(before));
  }
}

void Checker::CheckChannels() {
  struct HostTransfer {
    InstId first;
  };
  // By channel and direction: host transfers on one channel must be alike.
  std::unordered_map<int64_t, HostTransfer> transfers[4];
  auto same_transfer = [&](InstId a, InstId b) {
    if (!shapes_.Compatible(module_.shape(a), module_.shape(b))) return false;
    for (AttrKind kind : {AttrKind::kIsHostTransfer, AttrKind::kChannelId}) {
      if (module_.IntAttr(a, kind) != module_.IntAttr(b, kind)) return false;
    }
    return module_.TextAttr(a, AttrKind::kFrontendAttributes) ==
           module_.TextAttr(b, AttrKind::kFrontendAttributes);
  };
  ForEach([&](InstId id) {
    Opcode opcode = module_.opcode(id);
    bool start = opcode == Opcode::kSend || opcode == Opcode::kRecv;
    bool done = opcode == Opcode::kSendDone || opcode == Opcode::kRecvDone;
    if (!start && !done) return;
    const Attr* channel = module_.FindAttr(id, AttrKind::kChannelId);
    if (channel == nullptr) return;
    if (start) {
      for (InstId user : module_.users(id)) {
        Opcode other = module_.opcode(user);
        if (other != Opcode::kSendDone && other != Opcode::kRecvDone) continue;
        const Attr* user_channel = module_.FindAttr(user, AttrKind::kChannelId);
        if (user_channel == nullptr || user_channel->integer() != channel->integer() ||
            module_.IntAttr(user, AttrKind::kIsHostTransfer) !=
                module_.IntAttr(id, AttrKind::kIsHostTransfer)) {
          Report(user, DiagId::kChannelMismatch,
                 "%{} has channel_id {}; channel and is_host_transfer must "
                 "be the same here",
                 Name(id), channel->integer());
        }
      }
    }
    if (module_.IntAttr(id, AttrKind::kIsHostTransfer) == 0) return;
    size_t direction =
        (opcode == Opcode::kSend || opcode == Opcode::kSendDone ? 0 : 1) + (done ? 2 : 0);
    auto [known, added] = transfers[direction].try_emplace(channel->integer(), HostTransfer{id});
    if (!added && !same_transfer(known->second.first, id)) {
      Report(id, DiagId::kHostTransferConflict, "%{} is another host transfer on channel {}",
             Name(known->second.first), channel->integer());
    }
  });
}

}  // namespace hlokit
