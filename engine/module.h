// SPDX-License-Identifier: Apache-2.0
// Parts of the program that are loaded when they are first asked for (dlopen): CUDA, MPI, SimGrid.
// The program then starts without their libraries, and is built without them.
#pragma once

#include "engine/result.h"

namespace orrery {

class Module {
public:
    // Loads lib<name>.so, e.g. "orrery_mpi": from the program's folder, else from where the system's
    // loader looks. The error says why it can't be loaded. A module stays loaded.
    static Result<Module> open(const char* name, bool own_symbols_first = false);

    // Puts the address of a function with C linkage into `to`; false if the module has none.
    template <class Function>
    bool find(const char* function, Function*& to) const {
        to = reinterpret_cast<Function*>(address(function));
        return to != nullptr;
    }

private:
    explicit Module(void* handle) : handle_(handle) {}
    void* address(const char* function) const;

    void* handle_;
};

}  // namespace orrery
