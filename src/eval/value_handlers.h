// Instructions that pass values on, call computations, connect devices, or meet the outside world;
// the table is op_table.cc.
#ifndef HLOKIT_SRC_EVAL_VALUE_HANDLERS_H_
#define HLOKIT_SRC_EVAL_VALUE_HANDLERS_H_

#include "src/eval/engine.h"

namespace hlokit::eval {

// passing.cc
Status Parameter(Engine& e, Frame& frame, InstId id, DeviceValues* out);
Status Constant(Engine& e, Frame& frame, InstId id, DeviceValues* out);
Status Tuple(Engine& e, Frame& frame, InstId id, DeviceValues* out);
Status GetTupleElement(Engine& e, Frame& frame, InstId id, DeviceValues* out);
Status PassFirst(Engine& e, Frame& frame, InstId id, DeviceValues* out);
Status Copy(Engine& e, Frame& frame, InstId id, DeviceValues* out);
Status CopyStart(Engine& e, Frame& frame, InstId id, DeviceValues* out);
Status FirstElement(Engine& e, Frame& frame, InstId id, DeviceValues* out);
Status SecondElement(Engine& e, Frame& frame, InstId id, DeviceValues* out);
Status Bitcast(Engine& e, Frame& frame, InstId id, DeviceValues* out);
Status GetDimensionSize(Engine& e, Frame& frame, InstId id, DeviceValues* out);
Status SetDimensionSize(Engine& e, Frame& frame, InstId id, DeviceValues* out);

// control.cc
Status Call(Engine& e, Frame& frame, InstId id, DeviceValues* out);
Status Fusion(Engine& e, Frame& frame, InstId id, DeviceValues* out);
Status While(Engine& e, Frame& frame, InstId id, DeviceValues* out);
Status Conditional(Engine& e, Frame& frame, InstId id, DeviceValues* out);
Status Scan(Engine& e, Frame& frame, InstId id, DeviceValues* out);
Status AsyncStart(Engine& e, Frame& frame, InstId id, DeviceValues* out);

// outside.cc
Status Token(Engine& e, Frame& frame, InstId id, DeviceValues* out);
Status Outfeed(Engine& e, Frame& frame, InstId id, DeviceValues* out);
Status Infeed(Engine& e, Frame& frame, InstId id, DeviceValues* out);
Status Send(Engine& e, Frame& frame, InstId id, DeviceValues* out);
Status Recv(Engine& e, Frame& frame, InstId id, DeviceValues* out);
Status RecvDone(Engine& e, Frame& frame, InstId id, DeviceValues* out);
Status CustomCall(Engine& e, Frame& frame, InstId id, DeviceValues* out);

// collectives.cc
Status DeviceId(Engine& e, Frame& frame, InstId id, DeviceValues* out);
Status AllReduce(Engine& e, Frame& frame, InstId id, DeviceValues* out);
Status AllGather(Engine& e, Frame& frame, InstId id, DeviceValues* out);
Status AllToAll(Engine& e, Frame& frame, InstId id, DeviceValues* out);
Status ReduceScatter(Engine& e, Frame& frame, InstId id, DeviceValues* out);
Status CollectiveBroadcast(Engine& e, Frame& frame, InstId id, DeviceValues* out);

// collective_permute.cc, ragged_all_to_all.cc
Status CollectivePermute(Engine& e, Frame& frame, InstId id, DeviceValues* out);
Status RaggedAllToAll(Engine& e, Frame& frame, InstId id, DeviceValues* out);

}  // namespace hlokit::eval

#endif  // HLOKIT_SRC_EVAL_VALUE_HANDLERS_H_
