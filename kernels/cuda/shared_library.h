// SPDX-License-Identifier: Apache-2.0
// A library that is looked for when it is first needed (dlopen), so that the program starts on
// machines without NVIDIA's libraries, and starts quickly on machines with them.
#pragma once

#include <string>
#include <vector>

#include "engine/base/result.h"

namespace orrery {

class SharedLibrary {
public:
    // The first of these names or paths that can be loaded; the error says why each could not.
    static Result<SharedLibrary> open(const std::vector<std::string>& names);

    SharedLibrary(SharedLibrary&& other) noexcept;
    SharedLibrary& operator=(SharedLibrary&& other) noexcept;
    SharedLibrary(const SharedLibrary&) = delete;
    SharedLibrary& operator=(const SharedLibrary&) = delete;
    ~SharedLibrary() = default;  // what was loaded stays: its threads may still run

    // Puts the address of a function into `to`; false, and remembers the name, if it has none.
    template <class Function>
    bool find(const char* name, Function*& to) {
        to = reinterpret_cast<Function*>(address(name));
        return to != nullptr;
    }
    // What was asked for in vain.
    const std::vector<std::string>& missing() const { return missing_; }

private:
    explicit SharedLibrary(void* handle) : handle_(handle) {}
    void* address(const char* name);

    void* handle_ = nullptr;
    std::vector<std::string> missing_;
};

}  // namespace orrery
