// How the process ends, as its parent sees it. Anything but kOk is non-zero, so that "restart on failure" works.
#ifndef KERNELWIRE_SERVER_EXIT_CODE_H_
#define KERNELWIRE_SERVER_EXIT_CODE_H_

namespace kernelwire {

enum class ExitCode : int {
  kOk = 0,           // stopped as asked, nothing lost; --help, --version; --probe: healthy
  kStartFailed = 1,  // a port, a device or the self-test; --probe: not healthy
  kUsage = 2,        // unknown, unreadable or contradicting flags
  kDeviceLost = 70,  // a GPU reported an error that only a new process can cure
  kDeviceHung = 71,  // a GPU did not finish its work in time
  kForcedStop = 72,  // --drain_timeout ran out, or a second signal came
};

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_EXIT_CODE_H_
