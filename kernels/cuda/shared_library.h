// SPDX-License-Identifier: Apache-2.0
// A library that is loaded at its first use (dlopen). The program therefore starts on machines
// without NVIDIA's libraries, and starts quickly on machines with them.
#pragma once

#include <string>
#include <vector>

#include "engine/base/result.h"

namespace orrery {

class SharedLibrary {
public:
    // Loads the first of these names or paths that can be loaded. The error has the reason for
    // each.
    static Result<SharedLibrary> open(const std::vector<std::string>& names);

    SharedLibrary(SharedLibrary&& other) noexcept;
    SharedLibrary& operator=(SharedLibrary&& other) noexcept;
    SharedLibrary(const SharedLibrary&) = delete;
    SharedLibrary& operator=(const SharedLibrary&) = delete;
    ~SharedLibrary() = default;  // the library stays loaded: its threads may still run

    // Sets `to` to the address of a function. Returns false, and records the name, if it is
    // missing.
    template <class Function>
    bool find(const char* name, Function*& to) {
        to = reinterpret_cast<Function*>(address(name));
        return to != nullptr;
    }
    // The names of functions that find() did not find.
    const std::vector<std::string>& missing() const { return missing_; }

private:
    explicit SharedLibrary(void* handle) : handle_(handle) {}
    void* address(const char* name);

    void* handle_ = nullptr;
    std::vector<std::string> missing_;
};

}  // namespace orrery
