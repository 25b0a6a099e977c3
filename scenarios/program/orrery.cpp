// SPDX-License-Identifier: Apache-2.0
// The program `orrery`: its command line, and the ends of the process outside of it.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>

#include "scenarios/format/provenance/version.h"
#include "scenarios/program/command_line.h"
#include "scenarios/program/exit_status.h"

namespace orrery {
namespace {

// Allocates no memory, not even at the exit.
[[noreturn]] void end_without_memory() {
    constexpr std::string_view kText =
        "error: out of memory (hint: a smaller scenario, or more memory)\n";
    [[maybe_unused]] const ssize_t told = write(STDERR_FILENO, kText.data(), kText.size());
    std::_Exit(kExitUserError);
}

std::atomic<bool> memory_lacked = false;
const std::terminate_handler usual_end = std::get_terminate();

[[noreturn]] void note_lack_of_memory() {
    memory_lacked = true;
    throw std::bad_alloc{};
}

// Called for exceptions in functions that may not throw, for example in libstdc++'s iteration over
// a folder.
[[noreturn]] void terminate() {
    if (memory_lacked) {
        end_without_memory();
    }
    usual_end();
    std::abort();
}

// Occupies the descriptors of closed standard streams. Otherwise an opened file could get their
// number and the printed text. Writing to the stand-in fails, like writing to a closed descriptor.
void hold_closed_outputs() {
    for (const int output : {STDOUT_FILENO, STDERR_FILENO}) {
        if (fcntl(output, F_GETFD) == -1) {
            const int stand_in = open("/dev/null", O_RDONLY);
            if (stand_in >= 0 && stand_in != output) {
                dup2(stand_in, output);
                close(stand_in);
            }
        }
    }
}

}  // namespace
}  // namespace orrery

int main(int argc, char** argv) {
    orrery::hold_closed_outputs();
    std::set_new_handler(orrery::note_lack_of_memory);
    std::set_terminate(orrery::terminate);
    try {
        orrery::set_build_identity(orrery::identity_of_this_program());
        return orrery::run_command_line(argc, argv);
    } catch (const std::bad_alloc&) {
        orrery::end_without_memory();
    } catch (const std::exception& error) {
        return orrery::report_defect(error.what());
    }
}
