// Names for threads, as `top -H`, gdb and perf show them.
#ifndef KERNELWIRE_SERVER_EXEC_THREAD_NAME_H_
#define KERNELWIRE_SERVER_EXEC_THREAD_NAME_H_

#include <pthread.h>

#include <string>

namespace kernelwire {

/// Names the calling thread. Linux keeps the first 15 characters.
inline void NameThisThread(const std::string& name) {
  static_cast<void>(pthread_setname_np(pthread_self(), name.substr(0, 15).c_str()));  // a nameless thread works too
}

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_EXEC_THREAD_NAME_H_
