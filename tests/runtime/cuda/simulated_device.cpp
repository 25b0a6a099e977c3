// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/cuda/simulated_device.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <vector>

#include "kernels/cuda/kernel_version.h"

namespace orrery::simulated {
namespace {

struct Stream {
    std::deque<Command> queue;
    bool capturing = false;
    std::vector<Command> captured;
};

// The k-th record of an event has happened when `done` >= k.
struct Event {
    std::int64_t recorded = 0;
    std::int64_t done = 0;
    std::chrono::steady_clock::time_point at;  // of the last one
};

using Graph = std::vector<Command>;

// What callers hold. An executor frees nothing of a device that it gave up; a driver still knows it
// then. Never destroyed.
class Held {
public:
    void add(void* what) {
        const std::lock_guard lock{mutex_};
        all_.insert(what);
    }
    void remove(void* what) {
        const std::lock_guard lock{mutex_};
        all_.erase(what);
    }

private:
    std::mutex mutex_;
    std::set<void*> all_;
};
Held& held() {
    static Held& all = *new Held;
    return all;
}

struct Device {
    std::mt19937_64 random{1};
    std::vector<std::unique_ptr<Stream>> streams;
    Counts counts;
    bool fuses_always = false;
    bool broken_epilogues = false;
    std::set<orrery::device::TensorCores> broken_attention;
    std::int64_t memory_left = std::numeric_limits<std::int64_t>::max();
    std::size_t longest_queue = std::numeric_limits<std::size_t>::max();
    bool hangs = false;
    bool host_is_blocked = false;  // by a stream that has no room
    double event_s = 0;
    std::string kernel_version;
    std::map<std::string, std::int64_t> choices;

    // One command of a queue; false if none could go on.
    bool step() {
        if (hangs) {
            return false;
        }
        std::vector<Stream*> ready;
        for (const auto& stream : streams) {
            if (!stream->queue.empty()) {
                ready.push_back(stream.get());
            }
        }
        counts.streams_at_once =
            std::max(counts.streams_at_once, static_cast<std::int64_t>(ready.size()));
        std::ranges::shuffle(ready, random);
        for (Stream* stream : ready) {
            if (stream->queue.front()()) {
                stream->queue.pop_front();
                ++counts.commands;
                return true;
            }
        }
        return false;
    }
};

thread_local std::unique_ptr<Device> own;

Device& device() {
    if (!own) {
        own = std::make_unique<Device>();
    }
    return *own;
}

Stream& of(cudaStream_t stream) {
    return *reinterpret_cast<Stream*>(stream);
}
Event& of(cudaEvent_t event) {
    return *reinterpret_cast<Event*>(event);
}

}  // namespace

void begin_device(std::uint64_t seed) {
    own = std::make_unique<Device>();
    own->random.seed(seed);
}

void enqueue(CUstream_st* stream, Command command) {
    Stream& queue = of(stream);
    if (queue.capturing) {
        queue.captured.push_back(std::move(command));
        return;
    }
    while (queue.queue.size() >= device().longest_queue) {
        device().host_is_blocked = true;
        device().step();
    }
    device().host_is_blocked = false;
    queue.queue.push_back(std::move(command));
}

const Counts& counts() {
    return device().counts;
}

void fuse_always(bool always) {
    device().fuses_always = always;
}
bool fuses_always() {
    return device().fuses_always;
}
void break_epilogues(bool broken) {
    device().broken_epilogues = broken;
}
bool broken_epilogues() {
    return device().broken_epilogues;
}
void count_fused_product(GemmEpilogue epilogue) {
    ++device().counts.fused_products[epilogue];
}

void break_attention(orrery::device::TensorCores cores) {
    device().broken_attention.insert(cores);
}
bool broken_attention(orrery::device::TensorCores cores) {
    return device().broken_attention.contains(cores);
}
void count_attention(orrery::device::TensorCores cores) {
    ++device().counts.attention[cores];
}

void limit_memory(std::int64_t bytes) {
    device().memory_left = bytes;
}
void limit_streams(std::size_t commands) {
    device().longest_queue = commands;
}
void hang() {
    device().hangs = true;
}
void add_to_event_times(double seconds) {
    device().event_s = seconds;
}
void remember_choices(const std::string& kernel_version) {
    device().kernel_version = kernel_version;
}
bool remembers_choices() {
    return !device().kernel_version.empty();
}
std::map<std::string, std::int64_t>& choices() {
    return device().choices;
}

}  // namespace orrery::simulated

std::string_view orrery::device::kernel_version() {
    return simulated::device().kernel_version;
}

// The C interface, as cuda_runtime_api.h declares it.
using namespace orrery::simulated;

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
    *count = 1;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
    *properties = {};
    std::strcpy(properties->name, "simulated");
    properties->totalGlobalMem = std::size_t{1} << 34;
    properties->multiProcessorCount = 4;
    properties->major = 9;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* text, int, int) {
    *text = '\0';
    return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
    *version = 13000;
    return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
    *version = 13000;
    return cudaSuccess;
}
const char* cudaGetErrorString(cudaError_t error) {
    return error == cudaErrorMemoryAllocation ? "out of memory" : "simulated error";
}
cudaError_t cudaGetLastError() {
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int) {
    return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    *least = 0;
    *greatest = -5;
    return cudaSuccess;
}
cudaError_t cudaMemGetInfo(std::size_t* available, std::size_t* total) {
    *available = static_cast<std::size_t>(device().memory_left);
    *total = std::size_t{1} << 34;
    return cudaSuccess;
}
cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
    if (static_cast<std::int64_t>(bytes) > device().memory_left) {
        return cudaErrorMemoryAllocation;
    }
    device().memory_left -= static_cast<std::int64_t>(bytes);
    *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    std::memset(*memory, 0xA5, std::min(bytes, std::size_t{1} << 24));
    held().add(*memory);
    return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
    held().remove(memory);
    std::free(memory);
    return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
    *memory = std::malloc(bytes);
    held().add(*memory);
    return cudaSuccess;
}
cudaError_t cudaFreeHost(void* memory) {
    held().remove(memory);
    std::free(memory);
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
    device().streams.push_back(std::make_unique<Stream>());
    *stream = reinterpret_cast<cudaStream_t>(device().streams.back().get());
    return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    std::erase_if(device().streams, [&](const auto& s) { return s.get() == &of(stream); });
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    while (!of(stream).queue.empty()) {
        device().step();
    }
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
    *event = reinterpret_cast<cudaEvent_t>(new Event);
    held().add(*event);
    return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    held().remove(event);
    delete &of(event);
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    Event& e = of(event);
    const std::int64_t ticket = ++e.recorded;
    enqueue(stream, [&e, ticket] {
        e.done = std::max(e.done, ticket);
        e.at = std::chrono::steady_clock::now();
        return true;
    });
    return cudaSuccess;
}
// Of the last record before this call; an event that never was recorded holds up no stream.
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    Event& e = of(event);
    const std::int64_t ticket = e.recorded;
    enqueue(stream, [&e, ticket, asked = false]() mutable {
        const bool done = e.done >= ticket;
        device().counts.waits += !done && !asked ? 1 : 0;
        asked = true;
        return done;
    });
    return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
    for (int i = 0; i < 200 && of(event).done < of(event).recorded; ++i) {
        if (!device().step()) {
            break;
        }
    }
    return of(event).done >= of(event).recorded ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    while (of(event).done < of(event).recorded) {
        device().step();
    }
    return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
    *milliseconds = std::chrono::duration<float, std::milli>(of(end).at - of(begin).at).count() +
                    static_cast<float>(1e3 * device().event_s);
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream) {
    enqueue(stream, [=] {
        std::memset(memory, value, bytes);
        return true;
    });
    return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    device().counts.copies_to_host += kind == cudaMemcpyDeviceToHost ? 1 : 0;
    std::memcpy(to, from, bytes);
    return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(
    void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
    enqueue(stream, [=] {
        std::memcpy(to, from, bytes);
        return true;
    });
    return cudaSuccess;
}
cudaError_t cudaMemcpy2DAsync(void* to,
                              std::size_t to_pitch,
                              const void* from,
                              std::size_t from_pitch,
                              std::size_t width,
                              std::size_t height,
                              cudaMemcpyKind,
                              cudaStream_t stream) {
    enqueue(stream, [=] {
        for (std::size_t row = 0; row < height; ++row) {
            std::memcpy(static_cast<std::byte*>(to) + row * to_pitch,
                        static_cast<const std::byte*>(from) + row * from_pitch,
                        width);
        }
        return true;
    });
    return cudaSuccess;
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
    // A gate: it returns at once when the host has opened it. The host runs on meanwhile, unless a
    // stream makes it wait: then the gate must open by itself.
    enqueue(stream, [=] {
        if (!static_cast<std::atomic<bool>*>(data)->load() && !device().host_is_blocked) {
            return false;
        }
        function(data);
        return true;
    });
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
    of(stream).capturing = true;
    of(stream).captured.clear();
    return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
    of(stream).capturing = false;
    *graph = reinterpret_cast<cudaGraph_t>(new Graph(std::move(of(stream).captured)));
    return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* instance, cudaGraph_t graph, unsigned long long) {
    *instance = reinterpret_cast<cudaGraphExec_t>(new Graph(*reinterpret_cast<Graph*>(graph)));
    return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    delete reinterpret_cast<Graph*>(graph);
    return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t instance) {
    delete reinterpret_cast<Graph*>(instance);
    return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t instance, cudaStream_t stream) {
    ++device().counts.graph_launches;
    for (const Command& command : *reinterpret_cast<Graph*>(instance)) {
        enqueue(stream, command);
    }
    return cudaSuccess;
}

}  // extern "C"
