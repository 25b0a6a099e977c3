// SPDX-License-Identifier: Apache-2.0
// The libFuzzer target of the reader ORRERY_FUZZED_READER (tests/fuzz/readers.h).
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tests/fuzz/readers.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    for (const orrery::FuzzedReader& reader : orrery::fuzzed_readers()) {
        if (std::string_view{reader.name} == ORRERY_FUZZED_READER) {
            reader.read({reinterpret_cast<const char*>(data), size});
            return 0;
        }
    }
    std::abort();
}
