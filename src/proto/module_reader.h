// Reads an HloModuleProto into a Module: one walk over the bytes per level, no tree of messages in
// between. Implemented in module_reader.cc (module, computations), header_reader.cc,
// schedule_reader.cc, instruction_reader.cc (one instruction), attribute_reader.cc, list_reader.cc
// and shared_reader.cc (its attributes).
#ifndef HLOKIT_SRC_PROTO_MODULE_READER_H_
#define HLOKIT_SRC_PROTO_MODULE_READER_H_

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "attribute_text.h"
#include "bytes_memo.h"
#include "extras.h"
#include "field_set.h"
#include "hlokit/proto.h"
#include "literal_wire.h"
#include "names.h"
#include "recovery_table.h"
#include "schema.h"
#include "shape_wire.h"

namespace hlokit::proto {

class ModuleReader {
 public:
  /// Takes over the bytes of the whole file.
  ModuleReader(std::string file, const ProtoReadOptions& options,
               std::vector<Diagnostic>* warnings);

  /// Reads the module whose bytes stand at [begin, begin + size) of the file.
  Result<Module> Read(size_t begin, size_t size);

 private:
  struct ComputationParts {
    std::string_view bytes;
    std::string_view name;
    std::string_view thread;
    int64_t id = 0;
    int64_t root_id = 0;
    bool is_fusion = false;
    bool unknown = false;            // has a field that the schema does not know
    uint32_t first_instruction = 0;  // InstId of the instruction with the smallest local id
    std::vector<uint32_t> locals;   // local id by rank, ascending; empty when they are 0, 1, 2, …
    std::vector<int64_t> full_ids;  // with renumbering: the id by rank, as written
    uint32_t count = 0;
  };

  // ---- errors: all return false ----
  bool Fail(DiagId id, const char* at, std::string message, std::string help = "");
  bool FailWire(const WireProblem& problem);
  void Warn(DiagId id, const char* at, std::string message, std::string help);
  std::string Where(const char* at) const;

  // ---- module_reader.cc ----
  bool ReadModule(std::string_view bytes);
  bool ScanModule(std::string_view bytes);
  bool ReadHostProgramShape(std::string_view bytes);
  bool ReadAliases(std::string_view bytes);
  bool ReadDonors(std::string_view bytes);
  bool ReadStackFrames(std::string_view bytes);
  bool ReadFileLocation(std::string_view bytes, FileLocation* out);
  bool ReadRecoveryTable(std::string_view bytes);
  bool ReadComputation(size_t index);
  bool ScanComputation(std::string_view bytes, ComputationParts* parts,
                       std::vector<std::string_view>* instructions);
  bool OrderInstructions(ComputationParts* parts, std::vector<std::string_view>* instructions);
  bool FinishComputation(size_t index);
  bool ReadSchedule(std::string_view bytes);
  bool ReadSequence(std::string_view bytes);
  bool CheckSequence(CompId computation, const std::vector<InstId>& order);
  void FindFusions();
  void KeepModuleExtras(std::string_view bytes);
  void KeepComputationExtras();
  void KeepInstructionExtras();
  bool Ints(const WireField& field, std::vector<int64_t>* out);

  // ---- instruction_reader.cc ----
  bool ReadInstruction(std::string_view bytes, CompId computation);
  bool ResolveOperands(uint32_t number, std::vector<InstId>* out);
  InstId Resolve(int64_t id) const;
  bool CheckOperandCount(Opcode opcode, size_t count, const char* at);
  bool ReadName(std::string_view name, const char* at, StrRef* out);
  bool ReadOpcode(std::string_view text, const char* at, Opcode* opcode);
  bool Shape(std::string_view bytes, ShapeId* out);
  StrRef Ref(std::string_view bytes);
  bool IsInFile(std::string_view bytes) const {
    return bytes.data() >= file_.data() &&
           bytes.data() + bytes.size() <= file_.data() + file_.size();
  }

  // ---- attribute_reader.cc ----
  bool ReadAttributes(Opcode opcode, ShapeId shape);
  bool ReadAttribute(Opcode opcode, AttrKind kind, ShapeId shape);
  bool ReadCommon(Opcode opcode, ShapeId shape);
  bool ReadCalls(Opcode opcode);
  void NoteUnknown(MessageId message, std::string_view bytes);
  bool CheckRequired(Opcode opcode);
  bool ReadDimensions(Opcode opcode, AttrKind kind, ShapeId shape);
  bool ReadChannel();
  bool ReadReplicaGroups();
  bool ReadWindow(AttrKind kind);
  bool ReadSlices(AttrKind kind);
  bool ReadPadding(AttrKind kind);
  bool ReadPairs(AttrKind kind);
  bool ReadSliceSizes(AttrKind kind);
  bool ReadAliasing(AttrKind kind);
  bool ReadShapeList(AttrKind kind);
  bool ReadPrecision(Opcode opcode);
  bool ReadOneOfNames(AttrKind kind, uint32_t number);
  bool ReadDomain();
  bool ReadText(AttrKind kind, uint32_t number,
                bool (AttributeText::*convert)(std::string_view, TextBuffer*));
  bool ReadSharding();
  bool ShardingText(std::string_view bytes, StrRef* out);
  bool ReadMetadata();
  bool ReadBackendConfig();
  bool ReadReplication();
  bool ReadLiteralAttribute(AttrKind kind, ShapeId declared);
  bool EnumAttribute(AttrKind kind, uint32_t number, int64_t absent);
  bool NestedInts(std::string_view bytes, uint32_t number, std::vector<int64_t>* out);
  bool AddInts(AttrKind kind, bool even_if_empty);
  void AddInt(AttrKind kind, int64_t value) { attrs_.push_back(Attr::Integer(kind, value)); }
  bool TextFailed();

  ProtoReadOptions options_;
  std::vector<Diagnostic>* warnings_;
  Module module_;
  StrRef file_ref_;
  std::string_view file_;
  Error error_;
  std::vector<std::string_view> warned_opcodes_;

  // The module's fields.
  std::vector<std::string_view> computations_;
  std::vector<std::string_view> payloads_;
  std::string_view name_, entry_name_, host_shape_, schedule_, aliases_, donors_, frontend_,
      frames_, recovery_;
  bool has_host_shape_ = false;
  bool has_schedule_ = false;
  int64_t entry_id_ = 0;
  std::deque<std::string> merged_;

  // Computations read so far.
  std::vector<ComputationParts> parts_;
  std::unordered_map<int64_t, CompId> computation_by_id_;
  std::vector<uint8_t> is_fusion_body_;
  NameSet instruction_names_;
  BytesMemo<char> computation_names_;
  bool ids_are_dense_ = true;
  bool locals_are_dense_ = true;

  // The computation being read.
  CompId computation_;
  std::vector<uint32_t> rank_by_local_;  // dense table; empty = look locals_ up
  std::vector<uint32_t> locals_;         // ascending
  std::vector<uint32_t> file_position_;  // by rank
  uint32_t first_inst_ = 0;
  uint32_t current_rank_ = 0;

  // The instruction being read.
  FieldSet fields_;
  std::string_view instruction_name_;
  uint64_t name_hash_ = 0;
  std::string_view instruction_bytes_;
  bool lossy_ = false;
  std::vector<Attr> attrs_;
  std::vector<InstId> operands_;
  std::vector<int64_t> ints_;
  std::vector<uint32_t> refs_;
  std::vector<std::pair<InstId, std::string_view>> lossy_instructions_;
  std::vector<uint32_t> lossy_computations_;

  struct KnownShape {
    ShapeId shape;
    bool lossy;
  };
  struct KnownText {
    StrRef text;
    bool lossy;
  };
  BytesMemo<KnownShape> shapes_;
  BytesMemo<KnownText> shardings_;
  BytesMemo<KnownText> frontends_;
  AttributeText text_;
  TextBuffer buffer_;
  std::string scratch_;
};

}  // namespace hlokit::proto

#endif  // HLOKIT_SRC_PROTO_MODULE_READER_H_
