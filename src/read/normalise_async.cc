// What do asynchronous operations need beside what their text says: checks, wrapped computations,
// threads. hlo-text.md section 6.
#include <algorithm>

#include "fmt/format.h"
#include "src/read/parser.h"

namespace hlokit::read {

// ---- asynchronous operations ----

bool Parser::CheckAsync(Pending* p) {
  const ShapePool& shapes = module_.shapes();
  if (p->opcode == Opcode::kAsyncStart) {
    ShapeId shape = p->shape;
    if (!shapes.IsTuple(shape) || shapes.element_count(shape) < 2 ||
        !shapes.IsTuple(shapes.element(shape, 0))) {
      return Fail(DiagId::kBadAsync, p->after_arguments,
                  "the type of a start must be a tuple ((operands), result, context…)");
    }
    return true;
  }
  if (p->opcode != Opcode::kAsyncUpdate && p->opcode != Opcode::kAsyncDone) return true;
  InstId previous = p->operands[0];
  if (module_.opcode(previous) != Opcode::kAsyncStart &&
      module_.opcode(previous) != Opcode::kAsyncUpdate) {
    return FailHere(
        DiagId::kBadAsync,
        fmt::format("the operand of '{}' must be an async-start or async-update", p->opcode_text));
  }
  if (p->opcode == Opcode::kAsyncUpdate &&
      shapes[p->shape].bare != shapes[module_.shape(previous)].bare) {
    return FailHere(DiagId::kBadAsync, "an async-update has the type of its operand");
  }
  while (module_.opcode(previous) == Opcode::kAsyncUpdate) previous = module_.operand(previous, 0);
  CompId wrapped = module_.called_computations(previous)[0];
  if (p->async_form != 0) {
    InstId root = module_.computation(wrapped).root;
    if (!root.valid() || module_.opcode(root) != p->wrapped) {
      return FailHere(DiagId::kBadAsync,
                      fmt::format("the start of this chain wraps '{}', not '{}'",
                                  root.valid() ? OpcodeText(module_.opcode(root)) : "?",
                                  OpcodeText(p->wrapped)));
    }
  }
  if (const Attr* calls = FindPending(p, AttrKind::kCalls);
      calls != nullptr && calls->low != wrapped.value) {
    return FailHere(DiagId::kBadAsync,
                    "calls= names another computation than the start of this chain");
  }
  if (const Attr* thread = FindPending(p, AttrKind::kAsyncExecutionThread); thread != nullptr) {
    std::string_view of_start = module_.TextAttr(previous, AttrKind::kAsyncExecutionThread);
    std::string_view given = module_.str(thread->text());
    if (given != (of_start.empty() ? "main" : of_start)) {
      return FailHere(DiagId::kBadAsync,
                      "async_execution_thread= differs from the start of this chain");
    }
  }
  std::erase_if(p->attrs, [](const Attr& a) {
    return a.kind == AttrKind::kCalls || a.kind == AttrKind::kAsyncExecutionThread;
  });
  return true;
}

bool Parser::WrapAsync(CompId computation, Pending* p) {
  (void)computation;
  if (p->opcode != Opcode::kAsyncStart) return true;
  std::string_view thread;
  if (const Attr* attr = FindPending(p, AttrKind::kAsyncExecutionThread); attr != nullptr) {
    thread = module_.str(attr->text());
    if (thread == "main") {
      std::erase_if(p->attrs,
                    [](const Attr& a) { return a.kind == AttrKind::kAsyncExecutionThread; });
      thread = {};
    }
  }
  CompId wrapped;
  if (p->async_form == 1) {
    // X-start(…): a computation with one X in it.
    wrapped = module_.AddComputation(Keep("async_wrapped"));
    computation_offsets_.resize(module_.computation_count());
    computation_offsets_[wrapped.value] = p->name_offset;
    std::vector<InstId> parameters;
    for (InstId operand : p->operands) {
      Pending parameter;
      parameter.name = Keep("async_param");
      parameter.name_offset = p->name_offset;
      parameter.opcode = Opcode::kParameter;
      parameter.shape = module_.shape(operand);
      parameter.attrs.push_back(
          Attr::Integer(AttrKind::kParameterNumber, static_cast<int64_t>(parameters.size())));
      parameters.push_back(Create(wrapped, parameter));
    }
    Pending inner;
    inner.name = Keep(OpcodeText(p->wrapped));
    inner.name_offset = p->name_offset;
    inner.opcode = p->wrapped;
    inner.opcode_text = OpcodeText(p->wrapped);
    inner.shape = module_.shapes().element(p->shape, 1);
    inner.operands = parameters;
    // Its own attributes go inside, the shared descriptive ones stand on both.
    std::vector<Attr> outer;
    for (const Attr& attr : p->attrs) {
      switch (attr.kind) {
        case AttrKind::kAsyncExecutionThread:
        case AttrKind::kControlPredecessors:
        case AttrKind::kSharding:
          outer.push_back(attr);
          break;
        case AttrKind::kMetadata:
        case AttrKind::kOrigin:
        case AttrKind::kBackendConfig:
        case AttrKind::kFrontendAttributes:
        case AttrKind::kStatistics:
          outer.push_back(attr);  // ShareWithWrapped copies it inside
          break;
        default:
          inner.attrs.push_back(attr);
      }
    }
    if (!CheckAndFill(wrapped, &inner)) return false;
    ComputationData& data = module_.computation(wrapped);
    data.root = Create(wrapped, inner);
    module_.computation(wrapped).parameters = parameters;
    definition_order_.push_back(wrapped.value);
    p->attrs = std::move(outer);
    p->attrs.push_back({AttrKind::kCalls, wrapped.value, 0});
  } else {
    wrapped = CompId(FindPending(p, AttrKind::kCalls)->low);
  }
  if ((wrapped.value & 0x80000000u) == 0) {
    if (async_start_of_.count(wrapped.value) != 0) {
      return FailHere(DiagId::kBadAsync, "the wrapped computation has an async-start already");
    }
    if (!thread.empty()) SetThread(wrapped, thread);
  }
  return true;
}

void Parser::SetThread(CompId root, std::string_view thread) {
  StrRef name = Keep(thread);
  std::vector<CompId> todo = {root};
  std::unordered_set<uint32_t> seen = {root.value};
  while (!todo.empty()) {
    CompId id = todo.back();
    todo.pop_back();
    module_.computation(id).execution_thread = name;
    for (InstId inst : module_.computation(id).instructions) {
      for (CompId callee : module_.called_computations(inst)) {
        if (callee.value < module_.computation_count() && seen.insert(callee.value).second)
          todo.push_back(callee);
      }
    }
  }
}

}  // namespace hlokit::read
