// SPDX-License-Identifier: Apache-2.0
// A Program as text, one line an op: what goldens compare and what a reader looks at. Every field
// is in it, so that equal texts are equal Programs, but for names and operands that no op has.
//
//   k3, c1, m0, h2   the kernel, collective, message or host work of this number in its table
//   tp/0             a tensor's layout: digit tp cuts dimension 0 (`m`: mirrored halves, `>1`: held
//                    by the rank one back); `dp+`: partial sums over dp; `dp/flat`: equal parts of
//                    the elements; unnamed digits replicate
//   steps dp/flat    the layout in which the end of the step takes a tensor, if not that in memory
//   a, b^T -> c      the op reads a and b's transpose and writes c; `+> c`: adds to c; `c[1]`: of
//                    its column parts the second; `c{0/4}`: of four pieces of its tokens the first;
//                    `(alias)`: written in place of what the op reads
//   after 3, 7       waits of an op on ops of its segment; of a slot, `2 after 5.1`: its op 2 waits
//                    for op 1 of slot 5
#pragma once

#include <string>

#include "engine/program/program.h"

namespace orrery {

std::string to_text(const Program& program);
// The text of one role: its slots and what they name. The Program has to be valid
// (engine/program/verifier.h).
std::string to_text(const Program& program, RoleId role);

}  // namespace orrery
