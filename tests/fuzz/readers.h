// SPDX-License-Identifier: Apache-2.0
// Every reader of files that other programs or people write, as a function of any bytes. Nothing
// may crash, hang or assert in it, and every error names a place: it aborts otherwise. One table
// for the libFuzzer targets (NAME_fuzz) and for the test that replays their corpora
// (tests/fuzz/corpus/NAME).
#pragma once

#include <span>
#include <string>

namespace orrery {

struct FuzzedReader {
    const char* name;  // "chakra"
    void (*read)(const std::string& bytes);
};

std::span<const FuzzedReader> fuzzed_readers();

}  // namespace orrery
