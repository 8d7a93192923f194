add_executable(hlokit ${CMAKE_CURRENT_LIST_DIR}/hlokit.cc)
target_link_libraries(hlokit PRIVATE hlokit_cli hlokit_verify_command)
