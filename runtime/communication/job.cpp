// SPDX-License-Identifier: Apache-2.0
#include "runtime/communication/job.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "engine/base/check.h"
#include "runtime/communication/gloo_transport.h"
#include "runtime/communication/tcp_store.h"

namespace orrery {
namespace {

constexpr std::uint32_t kJobRanksMax = 1u << 20;
constexpr std::uint16_t kDefaultPort = 29'500;  // torchrun's

struct LauncherNames {
    const char* source;
    const char* rank;
    const char* num_ranks;
    const char* local_rank;
};
constexpr std::array kLaunchers{
    LauncherNames{"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK"},
    LauncherNames{"slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"},
    LauncherNames{
        "openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"}};

Result<std::uint32_t> number(const Environment& environment,
                             const std::string& name,
                             std::uint32_t limit) {
    const std::string text = environment(name).value_or("");
    std::uint32_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stopped, problem] = std::from_chars(text.data(), end, value);
    if (text.empty() || problem != std::errc{} || stopped != end || value >= limit) {
        return fail("$" + name,
                    fmt::format("'{}' is not a whole number below {}", text, limit),
                    "unset it, or start the job with torchrun, srun, mpirun or --nproc");
    }
    return value;
}

constexpr std::string_view kServed = "tcp:";

// Reads the address of the launcher's store, or the folder of the store.
Result<void> read_store(const std::string& text, ProcessJob& job) {
    if (!text.starts_with(kServed)) {
        job.store_folder = text;
        return {};
    }
    const std::string place = text.substr(kServed.size());
    const std::size_t colon = place.rfind(':');
    const auto port = number(
        [&](const std::string&) { return place.substr(colon + 1); }, "ORRERY_STORE", 1u << 16);
    if (colon == std::string::npos || !port) {
        return fail("$ORRERY_STORE",
                    fmt::format("'{}' is not tcp:HOST:PORT", text),
                    "unset it, or start the job with --nproc");
    }
    job.master_host = place.substr(0, colon);
    job.master_port = static_cast<std::uint16_t>(*port);
    job.served = true;
    return {};
}

// The first host in Slurm's notation: "node[03-05,09],other" gives node03.
std::string first_host(const std::string& list) {
    const std::size_t bracket = list.find('[');
    const std::size_t comma = list.find(',');
    if (bracket == std::string::npos || comma < bracket) {
        return list.substr(0, comma);
    }
    const std::size_t end = list.find_first_of("-,]", bracket + 1);
    return list.substr(0, bracket) + list.substr(bracket + 1, end - bracket - 1);
}

Result<ProcessJob> job_of(const Environment& environment, const LauncherNames& names) {
    const auto num_ranks = number(environment, names.num_ranks, kJobRanksMax);
    if (!num_ranks) {
        return unexpected<Error>(num_ranks.error());
    }
    const auto rank = number(environment, names.rank, std::max(1u, *num_ranks));
    if (!rank) {
        return unexpected<Error>(rank.error());
    }
    ProcessJob job{.rank = *rank,
                   .num_ranks = std::max(1u, *num_ranks),
                   .local_rank = *rank,
                   .source = names.source,
                   .store_folder = {},
                   .master_host = environment("MASTER_ADDR").value_or(""),
                   .master_port = kDefaultPort};
    if (environment(names.local_rank)) {
        const auto local = number(environment, names.local_rank, kJobRanksMax);
        if (!local) {
            return unexpected<Error>(local.error());
        }
        job.local_rank = *local;
    }
    if (environment("MASTER_PORT")) {
        const auto port = number(environment, "MASTER_PORT", 1u << 16);
        if (!port) {
            return unexpected<Error>(port.error());
        }
        job.master_port = static_cast<std::uint16_t>(*port);
    }
    if (const std::string store = environment("ORRERY_STORE").value_or(""); !store.empty()) {
        if (const Result<void> read = read_store(store, job); !read) {
            return unexpected<Error>(read.error());
        }
        job.source = "launcher";
    } else if (job.master_host.empty() && job.num_ranks > 1) {
        job.master_host = first_host(environment("SLURM_JOB_NODELIST").value_or(""));
        if (job.master_host.empty()) {
            return fail("$MASTER_ADDR",
                        fmt::format("not set, in a job of {} ranks", job.num_ranks),
                        "set it to the host of rank 0");
        }
    }
    return job;
}

class Alone final : public Transport {
public:
    std::uint32_t rank() const override { return 0; }
    std::uint32_t num_ranks() const override { return 1; }
    Result<void> exchange(std::span<const Message> messages) override {
        ORRERY_CHECK(messages.empty());
        return {};
    }
    Result<void> post_send(const Message&) override {
        check_failed("there is somebody to send to", __FILE__, __LINE__);
    }
    Result<void> flush() override { return {}; }
};

// Keeps the store as long as the transport.
class Hosted final : public Transport {
public:
    Hosted(std::unique_ptr<TcpStoreServer> server, std::unique_ptr<Transport> transport)
        : server_(std::move(server)), transport_(std::move(transport)) {}
    std::uint32_t rank() const override { return transport_->rank(); }
    std::uint32_t num_ranks() const override { return transport_->num_ranks(); }
    Result<void> exchange(std::span<const Message> messages) override {
        return transport_->exchange(messages);
    }
    Result<void> post_send(const Message& message) override {
        return transport_->post_send(message);
    }
    Result<void> flush() override { return transport_->flush(); }

private:
    std::unique_ptr<TcpStoreServer> server_;
    std::unique_ptr<Transport> transport_;
};

}  // namespace

std::string store_at(const std::string& host, std::uint16_t port) {
    return fmt::format("{}{}:{}", kServed, host, port);
}

std::string local_store(std::uint16_t port) {
    return store_at("127.0.0.1", port);
}

Environment process_environment() {
    return [](const std::string& name) -> std::optional<std::string> {
        const char* value = std::getenv(name.c_str());
        return value == nullptr ? std::nullopt : std::optional<std::string>{value};
    };
}

Result<ProcessJob> find_job(const Environment& environment) {
    for (const LauncherNames& names : kLaunchers) {
        // Slurm also sets its variables for jobs of one task, such as a shell in an allocation.
        if (environment(names.rank) && environment(names.num_ranks)) {
            return job_of(environment, names);
        }
    }
    return ProcessJob{.source = "single", .store_folder = {}, .master_host = {}};
}

Result<std::unique_ptr<Transport>> connect_job(const ProcessJob& job,
                                               std::chrono::milliseconds timeout) {
    if (job.num_ranks == 1) {
        return std::make_unique<Alone>();
    }
    GlooOptions options{.rank = job.rank,
                        .num_ranks = job.num_ranks,
                        .store_folder = job.store_folder,
                        .store_host = job.master_host,
                        .store_port = job.master_port,
                        .timeout = timeout};
    std::unique_ptr<TcpStoreServer> server;
    if (job.store_folder.empty()) {
        std::array<char, 256> host{};
        gethostname(host.data(), host.size() - 1);
        const bool local = job.master_host == "localhost" || job.master_host == "127.0.0.1";
        options.listen_host = local ? "127.0.0.1" : host.data();
        if (job.rank == 0 && !job.served) {
            auto started = TcpStoreServer::start(local ? "127.0.0.1" : "::", job.master_port);
            if (!started) {
                return unexpected<Error>(started.error());
            }
            server = std::move(*started);
        }
    }
    Result<std::unique_ptr<Transport>> transport = connect_gloo(options);
    if (!transport || !server) {
        return transport;
    }
    return std::make_unique<Hosted>(std::move(server), std::move(*transport));
}

}  // namespace orrery
