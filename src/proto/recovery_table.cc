// How is the table of original values converted? A row may hold a whole module, as text on one side
// and as a nested message on the other.
#include "recovery_table.h"

#include "hlokit/printer.h"
#include "hlokit/proto.h"
#include "hlokit/reader.h"
#include "src/print/value_text.h"
#include "text_to_wire.h"

namespace hlokit::proto {
namespace {

// A recovery module may have a recovery table of its own; nobody nests them further.
thread_local int g_depth = 0;
constexpr int kMaxNesting = 4;

struct Nesting {
  Nesting() { ++g_depth; }
  ~Nesting() { --g_depth; }
  bool ok() const { return g_depth <= kMaxNesting; }
};

}  // namespace

bool RecoveryEntryText(const std::string_view (&parts)[3], const bool (&present)[3],
                       AttributeText* text, TextBuffer* out) {
  out->Append("  ");
  for (int side : {0, 1}) {
    if (side == 1) out->Append(" : ");
    out->Append('{');
    if (present[side] && !text->OriginArray(parts[side], out)) return false;
    out->Append('}');
  }
  if (present[2]) {
    Nesting nesting;
    ProtoReadOptions options;
    options.kind = ProtoKind::kModule;
    std::string printed;
    if (nesting.ok()) {
      Result<Module> module = ReadProto(std::string(parts[2]), options);
      if (module) printed = PrintModule(*module);
    }
    if (printed.empty()) return text->FailAt(parts[2].data(), "a recovery module cannot be read");
    while (printed.ends_with('\n')) printed.pop_back();
    out->Append(",\n  \"\n");
    for (size_t at = 0; at <= printed.size();) {
      size_t end = std::min(printed.find('\n', at), printed.size());
      if (end != at) {
        out->Append("    ");
        out->Append(std::string_view(printed).substr(at, end - at));
      }
      out->Append('\n');
      at = end + 1;
    }
    out->Append("  \"");
  }
  out->Append('\n');
  return true;
}

bool AppendRecoveryProto(std::string_view text, std::string* out) {
  TextCursor cursor(text);
  WireWriter w(out);
  cursor.SkipBlanks();
  while (!cursor.AtEnd()) {
    size_t entry = w.Open(1);
    for (uint32_t side : {1u, 2u}) {
      if (side == 2 && !cursor.Eat(":")) return false;
      cursor.SkipBlanks();
      if (!cursor.Eat("{")) return false;
      if (cursor.Peek() != '}') {
        size_t array = w.Open(side);
        if (!AppendOriginArrayProto(&cursor, out)) return false;
        w.Close(array);
      }
      if (!cursor.Eat("}")) return false;
      cursor.SkipBlanks();
    }
    if (cursor.Eat(",")) {
      cursor.SkipBlanks();
      // The module stands between quotes on lines of their own, unescaped.
      if (!cursor.Eat("\"")) return false;
      size_t stop = cursor.Rest().find("\n  \"\n");
      if (stop == std::string_view::npos) return false;
      std::string module_text(cursor.Rest().substr(0, stop));
      cursor.Eat(module_text);
      cursor.SkipBlanks();
      if (!cursor.Eat("\"")) return false;
      Nesting nesting;
      if (!nesting.ok()) return false;
      Result<Module> module = ReadText(module_text);
      if (!module) return false;
      Result<std::string> bytes = WriteProto(*module, {.kind = ProtoKind::kModule});
      if (!bytes) return false;
      w.PresentBytes(3, *bytes);
    }
    w.Close(entry);
    cursor.SkipBlanks();
  }
  return true;
}

}  // namespace hlokit::proto
