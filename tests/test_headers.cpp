// SPDX-License-Identifier: Apache-2.0
// Owns the precompiled headers of the tests (tests/CMakeLists.txt). It is never run.
int main() { return 0; }
