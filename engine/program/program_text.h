// SPDX-License-Identifier: Apache-2.0
// A Program as text, one line an op, for golden tests and for readers. It has every field. Equal
// texts are equal Programs, except for names and operands that no op uses.
//
//   k3, c1, m0, h2   the kernel, collective, message or host work with this index in its table
//   tp/0             a tensor's layout: digit tp cuts dimension 0 (`m`: mirrored halves, `>1`: held
//                    by the rank one back); `dp+`: partial sums over dp; `dp/flat`: equal parts of
//                    the elements; unnamed digits replicate
//   steps dp/flat    the layout of a tensor in the optimizer's step, if it differs from memory
//   a, b^T -> c      the op reads a and b's transpose and writes c; `+> c`: adds to c; `c[1]`: the
//                    second column part; `c{0/4}`: the first of four pieces of tokens; `(alias)`:
//                    overwrites a tensor that the op reads
//   after 3, 7       waits of an op on ops of its segment; of a slot, `2 after 5.1`: its op 2 waits
//                    for op 1 of slot 5
#pragma once

#include <string>

#include "engine/program/program.h"

namespace orrery {

std::string to_text(const Program& program);
// The text of one role: its slots and the table entries that they use. The Program must be valid
// (engine/program/verifier.h).
std::string to_text(const Program& program, RoleId role);

}  // namespace orrery
