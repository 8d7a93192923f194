#ifndef HLOKIT_SRC_READ_PARSER_H_
#define HLOKIT_SRC_READ_PARSER_H_

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "hlokit/module.h"
#include "hlokit/reader.h"
#include "src/read/lexer.h"

namespace hlokit::read {

/// Names of one scope: an open-addressing table that is emptied in constant time.
class ScopeTable {
 public:
  void Clear() {
    ++generation_;
    count_ = 0;
  }
  /// The instruction with this name, or invalid.
  InstId Find(std::string_view name, const Module& module) const;
  void Insert(std::string_view name, InstId id) { FindOrInsert(name, id, nullptr); }
  /// The instruction that has this name already; otherwise gives the name to `id` and returns
  /// invalid.
  InstId FindOrInsert(std::string_view name, InstId id, const Module* module);

 private:
  struct Slot {
    uint32_t generation = 0;
    uint32_t hash = 0;
    InstId id;
  };
  void Grow();
  std::vector<Slot> slots_ = std::vector<Slot>(64);
  uint32_t generation_ = 1;
  uint32_t count_ = 0;
};

uint64_t HashBytes(std::string_view bytes);

/// A set of small numbers that is emptied in constant time.
class NumberSet {
 public:
  void Clear() {
    ++generation_;
    large_.clear();
  }
  /// False when the number is in the set already.
  bool Insert(uint64_t number) {
    constexpr uint64_t kSmall = 1 << 16;
    if (number >= kSmall) return large_.insert(number).second;
    if (number >= stamps_.size()) stamps_.resize(std::max<size_t>(number + 1, 2 * stamps_.size()));
    if (stamps_[number] == generation_) return false;
    stamps_[number] = generation_;
    return true;
  }

 private:
  uint32_t generation_ = 1;
  std::vector<uint32_t> stamps_;
  std::unordered_set<uint64_t> large_;
};

/// Canonical text of attributes that are only echoed; implemented in attribute_text.cc and
/// sharding.cc on top of the parser's tokens.
class Parser {
 public:
  Parser(std::string text, const ReadOptions& options);
  /// Reads into the pools of an existing module, which must outlive the parser.
  Parser(std::string text, const ReadOptions& options, const Module& pools);

  /// The whole input; errors are in diagnostics().
  bool ParseInput();
  /// A shape, or a computation layout, and nothing behind it.
  bool ParseShapeOnly(ShapeId* shape);
  bool ParseComputationLayoutOnly(const ComputationLayout& like, ComputationLayout* out);

  Module TakeModule() { return std::move(module_); }
  std::vector<Diagnostic>& diagnostics() { return diagnostics_; }
  std::vector<Diagnostic>& warnings() { return warnings_; }
  SourceLocation Locate(uint32_t offset) const;

 private:
  // ---- tokens (parser.cc) ----
  void Next() { lexer_.At(token_.end, &token_); }
  void JumpTo(uint32_t offset) { lexer_.At(offset, &token_); }
  bool Is(Tok kind) const { return token_.kind == kind; }
  bool IsKeyword(Keyword keyword) const {
    return token_.kind == Tok::kKeyword && token_.keyword == keyword;
  }
  bool Eat(Tok kind) {
    if (token_.kind != kind) return false;
    Next();
    return true;
  }
  bool Expect(Tok kind, std::string_view what);
  bool IsNameToken() const { return Is(Tok::kName) || Is(Tok::kIdentifier); }
  std::string_view TokenText() const { return lexer_.Slice(token_.begin, token_.end); }
  std::string_view WordText() const { return lexer_.Slice(token_.text_begin, token_.text_end); }
  /// A word of the source as a string of the module, without copying.
  StrRef SourceRef(uint32_t begin, uint32_t end) const { return {base_ + begin, end - begin}; }
  StrRef Keep(std::string_view text) { return module_.text().Append(text); }

  // ---- errors (parser.cc) ----
  bool Fail(DiagId id, uint32_t offset, std::string message, std::string help = "");
  bool FailHere(DiagId id, std::string message, std::string help = "") {
    return Fail(id, token_.begin, std::move(message), std::move(help));
  }
  bool FailExpected(std::string_view what);
  void Warn(DiagId id, uint32_t offset, std::string message, std::string help = "");
  Diagnostic MakeDiagnostic(DiagId id, uint32_t offset, std::string message,
                            std::string help) const;
  bool TooManyErrors() const {
    return static_cast<int>(diagnostics_.size()) >= options_.max_errors;
  }

  // ---- small values (parser.cc) ----
  bool ParseInteger(int64_t* value, std::string_view what = "an integer");
  bool ParseInt32(int64_t* value);
  bool ParseBool(bool* value);
  bool ParseFloat(double* value);
  bool ParseNumber(double* value);
  bool ParseString(std::string* value);
  /// "{1,2,3}" into `values` (emptied first).
  bool ParseIntList(std::vector<int64_t>* values);
  bool ParseIntListList(std::vector<std::vector<int64_t>>* values);
  bool ParseSizeList(std::vector<int64_t>* values);
  bool ParsePadList(std::vector<std::vector<int64_t>>* values);

  // ---- modules (parse_module.cc) ----
  bool ParseModule();
  bool ParseHeader();
  bool ParseModuleAttribute(std::string_view name, uint32_t name_offset);
  bool ParseInputOutputAlias();
  bool ParseBufferDonor();
  bool ParseShapeIndex(std::vector<int64_t>* index);
  bool ParseComputationLayout(const ComputationLayout* like, ComputationLayout* out);
  bool ParseBoolListOrBool(std::vector<bool>* values);
  bool ParseRecoveryTable();
  bool ParseStackFrameIndex();
  bool ParseStackTable(Keyword keyword, std::string_view what, int kind);
  bool ParseFieldBraces(std::initializer_list<std::string_view> names,
                        std::vector<int64_t>* values);
  bool ParseSingleInstruction();
  bool FinishModule();
  bool CheckHeaderAgainstEntry();

  // ---- computations (parse_computation.cc) ----
  bool ParseComputation(bool is_first_headerless);
  bool ParseSignature(ShapeId* result, uint32_t* result_offset);
  bool ParseInstructionList(CompId* computation, StrRef name, uint32_t name_offset);
  bool FinishComputation(CompId computation, uint32_t offset);
  bool ParseInstruction(CompId computation, InstId* id, bool* is_root);
  struct Pending;
  bool ParseInstructionLine(CompId computation, Pending* p, InstId* id, bool* is_root);
  bool RecoverInComputation();
  bool ParseComputationReference(uint32_t* computation, bool* forward);
  bool ResolveForwardReferences();
  bool CheckAcyclic();

  // ---- instructions (parse_instruction.cc) ----
  struct Pending {  // an instruction being read
    StrRef name;
    uint32_t name_offset = 0;
    uint32_t opcode_offset = 0;
    Opcode opcode = Opcode::kUnknown;
    std::string_view opcode_text;
    ShapeId shape;  // invalid = to be inferred
    uint32_t shape_offset = 0;
    uint32_t arguments_offset = 0;   // the '('
    uint32_t after_arguments = 0;    // the token behind the ')'
    uint32_t attributes_offset = 0;  // the first attribute name
    std::vector<InstId> operands;
    std::vector<Attr> attrs;
    int64_t async_form = 0;  // 0 none, 1 start, 2 update, 3 done (sugar)
    Opcode wrapped = Opcode::kUnknown;
    bool poisoned = false;  // refers to something that failed before
    int64_t stack_frame_id = 0;

    /// As new, but the vectors keep their memory.
    void Reset() {
      std::vector<InstId> kept_operands = std::move(operands);
      std::vector<Attr> kept_attrs = std::move(attrs);
      kept_operands.clear();
      kept_attrs.clear();
      *this = Pending();
      operands = std::move(kept_operands);
      attrs = std::move(kept_attrs);
    }
  };
  bool ParseRightHandSide(CompId computation, Pending* p);
  bool ParseOpcode(Pending* p);
  bool ParseArguments(CompId computation, Pending* p);
  bool ParseOperand(CompId computation, Pending* p);
  bool ParseOperandName(CompId computation, ShapeId written, uint32_t written_offset, Pending* p);
  bool ParseNested(CompId computation, ShapeId shape, uint32_t begin, Pending* p);
  bool ParseTupleAccess(CompId computation, InstId* id, std::string_view name, uint32_t begin);
  bool ParseAttributes(CompId computation, Pending* p);
  bool ParseAttributeValue(CompId computation, AttrKind kind, Pending* p);
  bool ParseUnknownAttribute(std::string_view name, uint32_t name_offset, Pending* p);
  bool CheckAndFill(CompId computation, Pending* p);
  bool CheckArity(const Pending& p);
  bool NormaliseCalls(Pending* p);
  bool NormaliseAttributes(Pending* p);
  bool NormaliseShape(Pending* p);
  bool CheckAsync(Pending* p);
  bool WrapAsync(CompId computation, Pending* p);
  InstId Create(CompId computation, const Pending& p);
  void ShareWithWrapped(InstId async, int64_t stack_frame_id);
  bool ParseRepeatedText(AttrKind kind, Pending* p);
  StrRef KeepCanonical(uint32_t begin, std::string_view canonical);
  Attr* FindPending(Pending* p, AttrKind kind);
  bool SpecsFor(const Pending& p, std::string_view name, AttrKind* kind);
  std::string AllowedAttributes(const Pending& p);
  bool InferPendingShape(Pending* p);
  bool CheckConstraints(const Pending& p, const Attr& constraints);
  void SetThread(CompId root, std::string_view thread);

  // ---- shapes (parse_shape.cc) ----
  bool ParseShape(ShapeId* shape);
  bool ParseArrayShape(ShapeId* shape);
  bool ParseLayoutBody(size_t rank, LayoutId* layout);
  bool ParseLayoutAttributes(LayoutExtras* extras, bool* physical_shape);
  bool ParseTiles(LayoutExtras* extras);
  bool ParseSplits(LayoutExtras* extras);
  bool LooksLikeShape() const { return Is(Tok::kType) || Is(Tok::kLeftParen) || IsBufferMarker(); }
  bool IsBufferMarker() const {
    return Is(Tok::kIdentifier) && token_.text_end - token_.text_begin == 1 &&
           lexer_.text()[token_.text_begin] == 'b' && token_.end < lexer_.text().size() &&
           lexer_.text()[token_.end] == '(';
  }
  ShapeId FillLayouts(ShapeId shape);

  // ---- literals (parse_literal.cc) ----
  bool ParseLiteral(ShapeId shape, LiteralId* literal);
  bool ParseLiteralWithShape(LiteralId* literal);
  bool ParseArrayLiteral(ShapeId shape, LiteralId* literal);
  bool ParseScalar(ElementType type, std::byte* out);
  bool StoreNumber(ElementType type, std::byte* out);
  bool ParseComplex(ElementType type, std::byte* out);

  // ---- attribute values kept as text (attribute_text.cc, sharding.cc) ----
  bool ParseWindow(std::vector<int64_t>* values);
  bool ParseDimLabels(std::string* out);
  bool ParseReplicaGroups(std::string* out);
  bool ParseIotaList(std::string* out, std::vector<int64_t>* groups);
  bool ParseMesh(std::string* out, std::vector<std::pair<std::string, int64_t>>* axes,
                 bool* maximal);
  bool ParseAxisList(const std::vector<std::pair<std::string, int64_t>>& axes, std::string* out,
                     int64_t* product, Tok close, uint32_t* close_offset);
  bool ParseAxis(const std::vector<std::pair<std::string, int64_t>>& axes, std::string* out,
                 int64_t* size);
  bool ParseSharding(std::string* out);
  bool ParseSingleSharding(std::string* out);
  bool ParseSquareList(std::vector<int64_t>* values);
  bool ParseIotaTail(std::vector<int64_t>* dims, std::vector<int64_t>* perm);
  bool ParseNamedSharding(std::string* out);
  bool ParseTileSharding(std::string* out);
  bool ParseMetadataOrList(std::string* out);
  bool ParseMetadataFields(std::string* out, bool* printed, int64_t* stack_frame_id);
  /// Byte after the closing brace when the metadata at the current token is already canonical.
  uint32_t CanonicalMetadataEnd(int64_t* stack_frame_id) const;
  bool ParseFrontendAttributes(std::string* out);
  bool ParseStatistics(std::string* out);
  bool ParseResultAccuracy(std::string* out);
  bool ParseOrigin(std::string* out);
  bool ParseOriginLeaf(std::string* out);
  bool ParseDomain(std::string* out);
  bool ParseSparsity(std::string* out);
  bool ParseAliasing(std::vector<int64_t>* encoded);
  bool ParseBackendConfig(StrRef* out);

  // ---- names and stack frames (names.cc) ----
  void MakeNamesUnique();
  void RenumberStackFrames();

  ReadOptions options_;
  Module module_;
  uint32_t base_ = 0;  // address of the source in the arena of the module
  Lexer lexer_;
  Token token_;
  std::vector<Diagnostic> diagnostics_;
  std::vector<Diagnostic> warnings_;
  std::unordered_set<std::string> warned_;  // each unknown word is reported once

  std::unordered_map<std::string_view, CompId> computation_names_;
  std::vector<uint32_t> computation_offsets_;  // by CompId: where it is named
  std::vector<ScopeTable> scopes_;
  size_t depth_ = 0;                        // of nested scopes
  uint32_t attribute_offset_ = 0;           // of the attribute that is being read
  int nesting_ = 0;                         // types, literals, operands
  std::vector<uint32_t> definition_order_;  // computations as they are completed
  struct Forward {
    uint32_t placeholder;  // number written in place of the computation
    std::string_view name;
    uint32_t offset;
    InstId user;
  };
  std::vector<Forward> forwards_;
  std::vector<std::unordered_map<std::string, uint32_t>> anonymous_names_;  // per scope
  std::vector<NumberSet> parameter_numbers_;
  bool single_instruction_ = false;
  bool any_root_ = false;
  std::vector<std::pair<InstId, int64_t>> stack_frame_users_;
  std::unordered_map<uint32_t, InstId> async_start_of_;  // wrapped computation -> its start
  struct ShapeMemo {
    uint64_t hash = 0;
    uint32_t begin = 0, length = 0;
    ShapeId shape;
  };
  std::vector<ShapeMemo> shape_memo_ = std::vector<ShapeMemo>(1024);
  std::unordered_map<uint64_t, StrRef> canonical_memo_;
  /// Recent values of attributes that repeat: as written, and their canonical text.
  struct RepeatedText {
    AttrKind kind = AttrKind::kUnknownAttribute;
    uint32_t begin = 0, length = 0;
    StrRef canonical;
  };
  RepeatedText repeated_[8];
  size_t next_repeated_ = 0;
  // Buffers reused from call to call.
  std::vector<int64_t> ints_;
  std::string scratch_;
  std::deque<Pending> pending_pool_;  // one per depth of in-place computations
  size_t pending_depth_ = 0;
  std::vector<std::string_view> seen_attributes_;  // of the instructions being read
  std::unordered_set<std::string_view> poisoned_;  // names whose definition has an error
};

/// Deepest nesting of types, literals, operands and in-place computations (hlo-text.md section 13).
inline constexpr int kMaxNesting = 8192;
/// Nested operands and in-place computations are read by recursion: keep the stack small, also with
/// the large frames of sanitizers.
inline constexpr int kMaxNestedOperands = 512;
inline constexpr int kMaxNestedComputations = 256;

/// Text as it stands between quotes in HLO text (section 11.5).
void AppendEscaped(std::string_view text, std::string* out);
void AppendInteger(int64_t value, std::string* out);

}  // namespace hlokit::read

#endif  // HLOKIT_SRC_READ_PARSER_H_
