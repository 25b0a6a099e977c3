// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/readers.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "kernels/profile.h"
#include "runtime/data/byte_pair_encoding.h"
#include "runtime/measure/recording.h"
#include "runtime/state/safetensors.h"
#include "scenarios/format/document/json_document.h"
#include "scenarios/format/document/yaml_document.h"
#include "scenarios/format/import/megatron_command.h"
#include "scenarios/format/import/nccl_tests.h"
#include "scenarios/format/import/shell_script.h"
#include "scenarios/format/read/hf_config.h"
#include "scenarios/format/read/nccl_topology.h"
#include "scenarios/format/read/read_fault_trace.h"
#include "scenarios/format/read/read_request_trace.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/studies/campaign/recorded_events.h"
#include "scenarios/studies/replay/chakra_reader.h"
#include "scenarios/studies/replay/simai_workload.h"
#include "scenarios/studies/validate/published_cases.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCatalogue = ORRERY_SOURCE_DIR "/scenarios/catalogue";

void require(const Errors& errors) {
    if (errors.empty()) {
        std::abort();
    }
    for (const Error& error : errors) {
        if (error.where.empty() || error.what.empty()) {
            std::abort();
        }
    }
}

template <class T>
std::optional<T> checked(ResultOrErrors<T> result) {
    if (!result) {
        require(result.error());
        return {};
    }
    return std::move(*result);
}

template <class T>
std::optional<T> checked(Result<T> result) {
    if (!result) {
        require({result.error()});
        return {};
    }
    return std::move(*result);
}

// A folder of this process with one file, for readers that want a path.
class Folder {
public:
    Folder() { fs::create_directories(path_); }
    ~Folder() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    const fs::path& path() const { return path_; }
    fs::path with(const std::string& name, const std::string& bytes) const {
        std::ofstream{path_ / name, std::ios::binary | std::ios::trunc} << bytes;
        return path_ / name;
    }

private:
    fs::path path_ = fs::temp_directory_path() / ("orrery-fuzz-" + std::to_string(getpid()));
};

const Folder& folder() {
    static const Folder made;
    return made;
}

// Any bytes are a scenario, and their first line is an override of an otherwise good one.
void read_as_scenario(const std::string& text) {
    ReadOptions options;
    options.catalogue = kCatalogue;
    checked(read_scenario_text(text, "fuzz.yaml", "/nowhere", options));
    options.overrides = {text.substr(0, text.find('\n'))};
    checked(
        read_scenario_text("cluster: {nodes: 1, node: dgx-h100}\nmodel: llama-3-8b\n"
                           "plan: {micro_batch_size: 1, global_batch_size: 8}\n",
                           "good.yaml",
                           "/nowhere",
                           options));
}

void read_as_yaml(const std::string& text) {
    if (const auto document = checked(parse_yaml(text, "fuzz.yaml"))) {
        checked(parse_yaml(to_yaml(*document), "written.yaml"));
    }
}

void read_as_hf_config(const std::string& text) {
    if (const auto document = checked(parse_json(text, "config.json"))) {
        if (const auto model = checked(model_of_hf_config(*document))) {
            remarks_on(*model, {});
        }
    }
}

void read_as_chakra(const std::string& bytes) {
    checked(parse_chakra(bytes, "trace.0.et"));
}

void read_as_simai(const std::string& text) {
    checked(parse_simai(text, "workload.txt"));
}

void read_as_nccl_topology(const std::string& text) {
    checked(read_nccl_topology(folder().with("topology.xml", text)));
}

void read_as_nccl_tests(const std::string& text) {
    checked(import_nccl_tests(
        text,
        "log.txt",
        {.device = "h100-80g", .collective = TransferKind::all_reduce, .ranks = 8}));
    checked(import_nccl_tests(text, "log.txt", {}));
}

void read_as_launch_script(const std::string& text) {
    if (const auto command = checked(launch_command(text, "run.sh"))) {
        checked(import_megatron(command->words, {}));
    }
}

void read_as_safetensors(const std::string& bytes) {
    if (const auto file = checked(Safetensors::open(folder().with("a.safetensors", bytes)))) {
        for (const StoredTensor& tensor : file->tensors()) {
            file->bytes(tensor);
            static_cast<void>(file->floats(tensor));
        }
    }
}

void read_as_merges(const std::string& text) {
    folder().with("merges.txt", text);
    if (const auto encoding = checked(BytePairEncoding::open(folder().path()))) {
        const std::string words = text.substr(0, 2000);
        if (encoding->decode(encoding->encode(words)) != words) {
            std::abort();
        }
    }
}

void read_as_profile(const std::string& text) {
    std::istringstream stream{text};
    if (const auto profile = checked(read_machine_profile(stream, "profile.csv"))) {
        std::istringstream written{profile_csv(*profile, "")};
        checked(read_machine_profile(written, "written.csv"));
    }
}

void read_as_fault_trace(const std::string& text) {
    checked(parse_fault_trace(text, "faults.csv"));
}

void read_as_published_cases(const std::string& text) {
    if (const auto rows = checked(read_published_cases(folder().with("cases.csv", text)))) {
        const Catalogue catalogue{kCatalogue};
        for (std::size_t i = 0; i < rows->size() && i < 3; ++i) {
            static_cast<void>(scenario_of((*rows)[i], catalogue));
        }
    }
}

void read_as_request_trace(const std::string& text) {
    for (const char* name : {"requests.csv", "requests.jsonl"}) {
        checked(read_request_trace(folder().with(name, text), {.of_trace = 512, .of_cache = 16}));
    }
}

void read_as_recording(const std::string& text) {
    // The two tables of a rank, one after the other.
    const std::size_t cut = text.find("\n\n");
    folder().with("rank-0000.ops.csv", text.substr(0, cut));
    folder().with("rank-0000.steps.csv", cut == std::string::npos ? "" : text.substr(cut + 2));
    checked(read_recording(folder().path(), 0));
}

void read_as_events(const std::string& text) {
    checked(read_events(folder().with("events.jsonl", text)));
}

constexpr FuzzedReader kReaders[] = {
    {"chakra", read_as_chakra},
    {"events", read_as_events},
    {"fault_trace", read_as_fault_trace},
    {"hf_config", read_as_hf_config},
    {"launch_script", read_as_launch_script},
    {"merges", read_as_merges},
    {"nccl_tests", read_as_nccl_tests},
    {"nccl_topology", read_as_nccl_topology},
    {"profile", read_as_profile},
    {"published_cases", read_as_published_cases},
    {"recording", read_as_recording},
    {"request_trace", read_as_request_trace},
    {"safetensors", read_as_safetensors},
    {"scenario", read_as_scenario},
    {"simai", read_as_simai},
    {"yaml", read_as_yaml},
};

}  // namespace

std::span<const FuzzedReader> fuzzed_readers() {
    return kReaders;
}

}  // namespace orrery
