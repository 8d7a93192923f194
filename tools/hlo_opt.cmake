find_package(CLI11 REQUIRED)
add_executable(hlo-opt
  ${CMAKE_CURRENT_LIST_DIR}/hlo_opt.cc ${CMAKE_CURRENT_LIST_DIR}/hlo_opt/arguments.cc
  ${CMAKE_CURRENT_LIST_DIR}/hlo_opt/flags.cc ${CMAKE_CURRENT_LIST_DIR}/hlo_opt/lists.cc
  ${CMAKE_CURRENT_LIST_DIR}/hlo_opt/load.cc)
target_link_libraries(hlo-opt PRIVATE hlokit_passes hlokit_read hlokit_print fmt::fmt CLI11::CLI11)
if(TARGET hlokit_proto)
  target_link_libraries(hlo-opt PRIVATE hlokit_proto)
  target_compile_definitions(hlo-opt PRIVATE HLOKIT_HAS_PROTO)
endif()
