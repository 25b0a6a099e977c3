// SPDX-License-Identifier: Apache-2.0
#include "engine/program/execution_ids.h"

namespace orrery {

int first_of(const Table<OpenTransferId, int>& open,
             OpenTransferId transfer,
             ConnectionClassId connection) {
#ifdef MUST_FAIL
    static_cast<void>(transfer);
    return open[connection];
#else
    static_cast<void>(connection);
    return open[transfer];
#endif
}

}  // namespace orrery
