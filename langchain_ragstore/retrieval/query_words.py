"""What queries are recognised by: words in English, Chinese, Japanese and Korean.

Chosen by us, from what the four languages call these things; no list is copied. A phrase
is separated by a comma, written as `text.terms.normalize` leaves it, and matched before
the shorter ones that it contains. English nouns match in the plural, too; Korean words
with their particles. Latin words are the same for all languages.

*Sure* words decide alone. *Hints* have another everyday meaning (`python`, `row`) and need
a second one. *Actions* support a hint, and never each other.
"""

from __future__ import annotations

from typing import Final

CODE_SURE: Final = """
div, span tag, html tag, css class, wget, curl, grep, sed, awk, rsync, tmux, emacs, neovim, netstat, iptables, scp, apt-get, apt install, homebrew, brew install, systemctl, journalctl, ansible, vagrant, wsl, celery, gunicorn, uvicorn, tomcat, hibernate, mybatis, jvm, jdk, jar file, war file, classpath,
memoize, memoization, serialize, deserialize, serialization, tokenizer, macro editor, vba editor, macro recorder, in my macro, basic macro, debugging, compiling, programmatically, subprocess, stdlib module, pyenv, rbenv, nvm, pnpm, eslint rule, prettier, lint, github pages, git clone, git pull, git checkout, git hook, commit hash, commit message,
typescript type, javascript event, jsx, tsx, redux, vuex, nuxt, nestjs, express.js, socket.io, three.js, d3.js, pandas dataframe, keras, langchain, openai api, llama.cpp, cuda kernel, latex package, latex, markdown parser, regex pattern, bash alias, dotfile, shell alias, cron expression, oauth token, bearer token, ssl certificate error, dns lookup, tcp,
宏里, 写宏, 录制宏, 编写宏, 水平居中, 分布式, 背包问题, 贪心, 回溯, 代码块, 抽象方法, 接口和抽象类, 类和对象, 服务重启, 源代码管理, 代码里, 系统变量, 环境搭建, 打包部署, 单步调试, 反编译, 编辑器插件, 命令提示符, 服务器部署, 响应式, 路由参数, 路由守卫, 接口测试, 自动化测试, 压测, 抓包, 埋点, 灰度发布, 数据库事务, 数据库死锁, 索引失效, 分库, 主从复制, 读写分离, 连接池, 线程数,
中央寄せ, 分散ロック, ルーティング, メモ化, シリアライズ, デシリアライズ, 再起動コマンド, 動的計画, ナップサック, 貪欲法, バックトラック, コーディング, 自動テスト, ビルドエラー, 名前解決, 環境構築, コマンドプロンプト, ターミナルで, ログ出力, パーミッション, 権限エラー, 接続プール, 排他ロック, インデント, 構造体, 列挙型, 無名関数, 可変長引数, 型注釈, アノテーション, ラッパー, エンドポイント, ペイロード, フレームワーク, ルーター設定, コミットの, 逆ポーランド,
레디스, 몽고디비, 플라스크, 메이븐, 그래들, 젠킨스, 카프카, 노드제이에스, 넥스트제이에스, 앵귤러, 분산 락, 라우팅, 메모이제이션, 역직렬화, 배낭 문제, 그리디, 백트래킹, 코딩, 자동 테스트, 빌드 오류, 환경 구축, 명령 프롬프트, 로그 출력, 퍼미션, 커넥션 풀, 들여쓰기, 구조체, 열거형, 익명 함수, 가변 인자, 타입 힌트, 어노테이션, 엔드포인트, 페이로드, 우분투, 리눅스, 깃 클론, 깃 풀, 커밋 해시, 코틀린, 스위프트 코드, 자바 코드, 안드로이드 스튜디오, 파이토치, 텐서플로, 스프링, 하이버네이트, 톰캣,
closure, monad, functor, virtualenv, venv, concatenate, polymorphism, encapsulation, inheritance hierarchy, deep copy, shallow copy, floating point, code snippet,
state management, single page app, connection refused, econnrefused, enoent, eacces, etimedout, http status, exit code, return code, log4j, middleware, interceptor, out of memory,
oom, package manager, garbage collection, bitwise, xor, modulo operator, operator overloading, template metaprogramming, bfs, dfs, hash function, base64, utf-8, unicode, ascii, daemon,
load balancer, reverse proxy, docker image, docker container, ci/cd, ci pipeline, jenkins, github action, integration test, end-to-end test, test coverage, test case, type checking, type inference,
static typing, strongly typed, nullable, ternary operator, switch statement, if statement, else if, foreach, for each loop, do while, mapreduce, event loop, event listener, event handler,
dom element, css selector, flexbox, iframe, csrf, xss, sql injection, sql query, kafka, rabbitmq, elasticsearch, hadoop, apache spark, airflow, aws lambda, s3 bucket, ec2, heroku, vercel, firebase,
prisma, svelte, jquery, tailwind, vite, deno, pyproject, jupyter, opencv, cuda, xcode, swiftui, flutter, android studio, arduino, firmware, fortran, cobol, matlab, elixir, erlang, clojure, ocaml,
prolog, solidity, smart contract, visual basic, in basic, in c, in go, in rust, in python, in java, in swift, in ruby, in perl, in scala, in lua, javascript promise, promise rejection, unhandled exception, unhandled promise, stack frame,
call stack, tail call, memory allocation, heap memory, race detector, semaphore, spinlock, thread pool, connection pool, pointer arithmetic, dangling pointer, use after free, buffer overflow, off by one error,
null check, type cast, integer overflow, binary operator, lexer, parser generator, syntax tree, ast, abi, dll, shared library, static library, header file, include path, linker, linker error, build error, build script,
lock file, semantic versioning, git stash, git bisect, git diff, git log, cherry-pick, cherry pick, detached head, submodule, monorepo, code formatter, type annotation, docstring, f-string, format string, string formatting, substring, string builder,
character encoding, big endian, little endian, regular expressions, lookahead, capture group, graph traversal, topological sort, trie, priority queue, hash set, linked lists, array index, two dimensional array, sorting algorithm, microservice, feature flag, service worker,
run time problem, runtime, run time error, software bug, pypi, import cycle, circular import, constructor argument, default argument, keyword argument, higher order function, side effect free, pure function, tcp socket, socket programming, http header, user agent string, query parameter, query string, rate limiting, pagination api,
深拷贝, 浅拷贝, 拦截器, 中间件, 日志级别, 浮点数, 状态码, 错误码, 端口号, 端口被占用, 测试用例, 跳过测试, 虚拟环境, 单页应用, 状态管理, 事件循环, 位运算, 三元运算, 运算符, 事务隔离, 慢查询, 消息队列, 缓存穿透, 缓存击穿, 缓存雪崩, 分布式锁, 分布式事务,
幂等, 负载均衡, 反向代理, 持续集成, 静态方法, 实例方法, 实例化, 泛型, 注解, 反射机制, 套接字, 二进制, 十六进制, 进制转换, 元组, 排序算法, 一小段程序, 小程序开发, 控制台, 内核, 线程, 多进程, 并发编程, 高并发, 垃圾回收, 智能指针, 模板元, 宏定义, 头文件, 动态链接库, 链接错误, 打断点, 堆溢出, 野指针,
响应式布局, 路由配置, 防抖, 节流函数, 虚拟列表, 服务端渲染, 热更新, 打包构建, 依赖注入, 控制反转, 切面编程, 注册中心, 网关配置, 限流, 熔断, 请求头, 跨站脚本, sql注入, 参数校验, 单例模式, 工厂模式, 观察者模式, 字符编码, 编码格式, 类加载, 字节流, 输入流, 空值判断, 条件语句, 循环结构, 嵌套循环, 异步任务, 定时任务, 版本控制, 子模块, 静态检查, 源文件, 开发环境, 解释器, 编译型, 汇编, 语法糖,
浅いコピー, 深いコピー, シャローコピー, ディープコピー, 状態管理, シングルページ, ステータスコード, エラーコード, 仮想環境, 不具合の番号, 実行時, 浮動小数点, 静的メソッド, インスタンス, 型推論, ジェネリクス, ミドルウェア, トランザクション分離, ソケット通信, 2進数, 16進数, 進数変換, タプル, キャスト演算, ビルド, デーモン, カーネル, コンソール, 開発環境, アプリ開発, web開発,
テストコード, テストケース, テストをスキップ, 型エラー, 静的型付け, 条件分岐, 三項演算子, 演算子, イベントループ, エラーが出, エラーになる, エラーを吐, 同じエラー, エラーメッセージ, ガベージコレクション, 参照渡し, 値渡し, グローバル変数, ローカル変数, 代入, インクリメント, ネストした, カプセル化, ポリモーフィズム, デザインパターン, 継続的インテグレーション, バージョン管理, リバースプロキシ, ロードバランサ, クロスサイト, sqlインジェクション,
文字コード変換, オーバーフロー, ヒープ, アセンブリ, アセンブラ, インタプリタ, ビット演算, 逆アセンブル, レンダリング, レスポンシブ, ホットリロード, プラグイン開発, イベントハンドラ, セマフォ, スレッドプール, コードを書, このプログラム, ソースファイル, ヘッダファイル, リンクエラー, ヌルチェック, パッケージ管理, デバッグモード,
얕은 복사, 깊은 복사, 상태 관리, 싱글 페이지, 상태 코드, 오류 코드, 에러 코드, 가상환경, 가상 환경, 부동소수점, 정적 메서드, 인스턴스, 제네릭, 미들웨어, 트랜잭션, 소켓, 이진수, 16진수, 진수 변환, 딕셔너리, 튜플, 빌드, 데몬, 커널, 콘솔, 앱 개발, 웹 개발, 테스트 코드, 테스트 케이스, 타입 에러, 정적 타입, 조건 분기,
삼항 연산자, 연산자, 이벤트 루프, 에러가 나, 에러 나, 같은 에러, 에러 메시지, 오류 메시지, 가비지 컬렉션, 전역 변수, 지역 변수, 참조 전달, 캡슐화, 다형성, 디자인 패턴, 지속적 통합, 버전 관리, 리버스 프록시, 로드 밸런서, sql 인젝션, 오버플로우, 오버플로, 힙 메모리, 어셈블리, 인터프리터, 비트 연산, 렌더링, 반응형, 이벤트 핸들러, 세마포어, 스레드 풀, 스레드, 멀티스레딩,
이 프로그램, 소스 파일, 헤더 파일, 링크 오류, 널 체크, 패키지 관리, 디버그, 싱글톤 패턴, 의존성 주입, 마이크로서비스, 메시지 큐, 캐시 무효화, 포트가, 포트 번호, 포트 충돌, 배치 작업, 해시 함수, 우선순위 큐, 그래프 탐색, 정렬 알고리즘, 하위 문자열, 템플릿 문자열, 이터러블, 부울, 불리언, 정수형, 실수형, 형식 지정자,
c++, c#, f#, .net, javascript, typescript, golang, kotlin, haskell, node.js, nodejs, php, html, css, sql, nosql,
mysql, postgres, postgresql, sqlite, mongodb, redis, graphql, orm, jdbc, odbc, regex, regexp, regular expression,
git, github, gitlab, git commit, git push, pull request, merge conflict, npm, yarn install, pip, pip install, conda,
cargo build, maven, gradle, webpack, cmake, makefile, gcc, clang, llvm, docker, dockerfile, kubernetes, kubectl, k8s,
helm chart, terraform, nginx, systemd, cron job, crontab, bash, zsh, powershell, shell script, bash script, chmod,
ssh key, sudo, stdin, stdout, stderr, localhost, django, flask, fastapi, spring boot, laravel, rails, react hook,
reactjs, vue.js, angularjs, next.js, numpy, pandas, pytorch, tensorflow, scikit-learn, matplotlib, dataframe,
data frame, sqlalchemy, openpyxl, pytest, junit, unittest, unit test, mock object, linter, eslint, compiler,
compile, compile error, interpreter error, debugger, debug, breakpoint, stack trace, stacktrace, traceback,
stack overflow, segfault, segmentation fault, core dumped, memory leak, null pointer, nullpointer, undefined reference,
syntax error, runtime error, type error, keyerror, typeerror, valueerror, nullptr, exception handling,
uncaught exception, source code, pseudocode, code review, code snippet, my code, this code, the code, code example,
algorithm implementation, binary search, binary tree, linked list, hash map, hashmap, hash table, bubble sort,
quicksort, merge sort, dynamic programming, time complexity, big o, recursion, recursive function, for loop,
while loop, infinite loop, list comprehension, lambda function, arrow function, decorator, boolean, enum,
struct, async, await, coroutine, multithreading, mutex, deadlock, race condition, thread safe, garbage collector,
borrow checker, singleton, design pattern, abstract class, inner class, subclass, object oriented, oop, generics,
type hint, environment variable, env var, api, api call, rest api, api key, endpoint, webhook, oauth, oauth2, jwt, cors,
http request, http 404, status code, json, yaml, toml, xml, json schema, websocket, grpc, sdk, ide, vscode, vim,
codebase, refactor, refactoring, dependency injection, stored procedure, foreign key constraint,
database migration, programming, programming language, programmer, software library, command line, cli, stdlib, int main, is null, returns null,
npm package, python package, import error, python script, python function, python code, java class, java code,
vba, this function, my function, this script, my script, callback, iterator, argparse, json parse,
typeof, malloc, printf, println, webassembly, wasm, bytecode, opcode, unicodedecodeerror,
代码, 源码, 源代码, 编程, 程序员, 函数, 返回值, 数组, 指针, 变量, 形参, 实参, 递归, 循环语句, 死循环, 遍历, 编译, 编译器, 编译错误,
报错, 异常处理, 空指针, 越界, 内存泄漏, 内存溢出, 栈溢出, 堆栈, 调试, 断点, 单元测试, 正则, 正则表达式, 装饰器, 迭代器, 生成器函数,
协程, 多线程, 死锁, 异步, 回调, 闭包, 作用域, 命名空间, 构造函数, 析构, 多态, 面向对象, 子类, 父类, 抽象类, 类的继承, 接口文档, 这个接口,
接口的参数, 接口返回, 调用接口, 前端, 后端, 跨域, 组件传值, 脚本, 命令行, 环境变量, 配置文件, 依赖包, 依赖冲突, 第三方库, 框架源码, 分支合并,
合并冲突, 提交记录, 代码提交, 版本回退, 开源项目, 快速排序, 冒泡排序, 归并排序, 二分查找, 二叉树, 链表, 哈希表, 哈希, 动态规划, 时间复杂度,
算法, 数据结构, 线程安全, 线程池, 序列化, 反序列化, 字符串, 字节码, 语法错误, 运行时错误, 列表推导, 存储过程, 数据库连接, 数据库索引,
sql语句, 爬虫, 程序崩溃, 程序报错, 写程序, 我的程序, 软件开发, 单例, 设计模式, 容器化, 镜像构建, 微服务, go语言, c语言, 重构, 类型转换, 强制转换,
ソースコード, このコード, コードレビュー, サンプルコード, プログラミング, プログラマ, プログラマー, プログラム言語, 関数,
戻り値, 返り値, 引数, 配列, 変数, ポインタ, ポインター, 再帰, 無限ループ, forループ, for文, if文, while文, コンパイル, コンパイラ, コンパイルエラー, デバッグ,
デバッガ, デバッガー, ブレークポイント, スタックトレース, スタックオーバーフロー, メモリリーク, 例外処理, 例外, ヌルポ, 正規表現, 非同期, 非同期処理,
コルーチン, コールバック, クロージャ, スコープ, 名前空間, コンストラクタ, オブジェクト指向, インターフェース, 抽象クラス, サブクラス, クラスメソッド,
メソッド, クラスの継承, 単体テスト, ユニットテスト, リファクタリング, デプロイ, コミット, プルリクエスト, プルリク, リポジトリ, ブランチ, マージ, 環境変数,
設定ファイル, コマンドライン, シェルスクリプト, スクリプト, フロントエンド, バックエンド, フレームワーク, ライブラリ, 依存関係, アルゴリズム, 計算量, クイックソート,
バブルソート, 二分探索, 二分木, 連結リスト, ハッシュマップ, ハッシュ, データ構造, 動的計画法, 文字列, 型変換, 構文エラー, シンタックスエラー, 実行時エラー,
セグメンテーション, apiキー, パース, シリアライズ, スレッドセーフ, マルチスレッド, デッドロック, 排他制御, リスト内包表記, ラムダ式, ジェネレータ, デコレータ,
イテレータ, マクロ, パイソン, ジャバスクリプト, タイプスクリプト, ストアドプロシージャ, データベース接続, ソフトウェア開発, バイナリ, シングルトン, 静的解析,
소스 코드, 소스코드, 이 코드, 코드 리뷰, 샘플 코드, 예제 코드, 프로그래밍, 프로그래머, 함수, 반환값, 리턴값, 매개변수, 배열, 변수, 포인터, 재귀,
무한 루프, 무한루프, 반복문, 조건문, for문, if문, while문, 컴파일, 컴파일러, 컴파일 오류, 디버깅, 디버거, 중단점, 브레이크포인트, 스택 트레이스, 스택 오버플로우,
메모리 누수, 예외 처리, 널 포인터, 정규식, 정규 표현식, 정규표현식, 비동기, 코루틴, 콜백, 클로저, 스코프, 네임스페이스, 생성자, 객체지향, 객체 지향, 인터페이스,
추상 클래스, 클래스 상속, 메서드, 메소드, 단위 테스트, 유닛 테스트, 모킹, 리팩터링, 리팩토링, 배포 스크립트, 커밋, 풀 리퀘스트, 깃허브, 깃 커밋, 깃 브랜치, 브랜치,
환경 변수, 환경변수, 설정 파일, 명령줄, 커맨드라인, 쉘 스크립트, 셸 스크립트, 스크립트, 프론트엔드, 백엔드, 프레임워크, 라이브러리, 의존성, 알고리즘, 복잡도,
퀵 정렬, 버블 정렬, 이진 탐색, 이진 트리, 연결 리스트, 해시맵, 해시 테이블, 자료구조, 자료 구조, 동적 계획법, 문자열, 형변환, 형 변환, 구문 오류, 런타임 에러,
api 키, 파싱, 직렬화, 멀티스레드, 데드락, 교착 상태, 컴프리헨션, 람다, 제너레이터, 데코레이터, 이터레이터, 매크로, 파이썬, 자바스크립트, 타입스크립트, 판다스, 넘파이,
데이터프레임, 스프링 부트, 장고, 리액트, 도커, 쿠버네티스, 저장 프로시저, 소프트웨어 개발, 싱글톤, 레포지토리, 깃랩, 개발 환경, 오픈소스, 스레드 안전, 컨테이너 이미지
"""

CODE_NAMES: Final = """
mvn, ssh, rebase, axios, token, panic, http, https, port, dart, julia, unity, poetry, thread pool, sort, filter, null, undefined, server, http,
python, java, rust, ruby, swift, go, scala, perl, lua, react, vue, angular, spring, express, shell, linux, pod,
class, string, map, array, thread, function, requests, post, get, main, self, static, import, return,
merge, commit, branch, push, pull, clone, build, bug, error, exception, try, catch, lambda, macro, script, code
"""
"""Hints that decide alone among Chinese, Japanese or Korean: there they are names."""

CODE_HINTS: Final = """
padding, pending, celery task, hash, task, pull, docker, service, restart, deploy key, memo, 宏, 居中, 路由, 哈希值, 事务, 锁, 任务, 服务, 再起動, ハッシュ, ロック, タスク, ルート, 재시작, 해시, 락, 태스크, 서비스, 정렬, 출력,
port, promise, unhandled, connection, host, snippet, statement, indentation, crashes, crashed, capture, concurrency, runtime, refused, migration, cookie, session, compilation, coverage, build, test suite, byte, binary, base, octal, hexadecimal, software, app, assembly, gpu, encryption, charset, encoding, notebook, plugin, dependency, operator, 端口, 打包, 网关, 封装, 协议, 编码, 字典, 终端, 驱动, 插件, 引擎, 字节, 内存, 拷贝, 并发, 网页, 项目, ポート, 辞書, メモリ, コピー, プロトコル, プラグイン, トランザクション, 不具合, コネクション, ソケット, 포트, 메모리, 복사, 잠금, 프로토콜, 플러그인, 개발, 키로, 앱,
null, none, nan, int, undefined,
function, method, argument, parameter, variable, pointer, object, instance, attribute, module, package, library,
interface, generator, syntax, algorithm, recursive, loop, iterate, array, string, integer, float, dict, dictionary,
tuple, stack, queue, heap, thread, process, cache, server, client, request, response, proxy, database, query,
index, schema, token, container, image, cluster, deploy, deployment, repository, repo, branch, commit, merge, rebase,
clone, script, macro, shell, terminal, command, flag, config, configuration, class, inheritance, constructor, exception, error,
bug, crash, stack, scope, property, default, header, byte, hex, code, coding, software, developer, backend,
frontend, framework, let and var, const, var, loop is, nested, callback, throws, throwing, raises, returns, err, axis,
authentication, permission denied, version, dependency, log, timeout, thread pool, concurrency, parser, parse,
程序, 接口, 参数, 对象, 类, 继承, 方法名, 线程, 进程, 缓存, 服务器, 数据库, 索引, 查询语句, 语句, 列表, 队列, 栈, 集合, 类型, 引用, 异常, 错误码, 崩溃,
日志, 部署, 容器, 镜像, 升级依赖, 依赖, 版本, 分支, 提交, 仓库, 组件, 模块, 框架, 库, 语法, 请求, 参考错误, 权限, 重载, 覆盖率, 漏洞,
コード, クラス, 継承, オブジェクト, リスト, プログラム, バグ, エラー, サーバー, サーバ, データベース, ログ, バージョン, モジュール, パッケージ, 参照, 実装, スレッド,
プロセス, コンテナ, キャッシュ, リクエスト, レスポンス, 型, 構文, ループ, モック, レビュー, インデックス, コマンド, ターミナル, 例外, キュー, スタック, 要素,
코드, 클래스, 상속, 객체, 리스트, 프로그램, 버그, 에러, 오류, 서버, 데이터베이스, 로그, 버전, 모듈, 패키지, 참조, 구현, 스레드, 프로세스, 컨테이너, 캐시, 예외,
요청, 응답, 타입, 문법, 루프, 인덱스, 명령어, 터미널, 큐, 스택, 깃, 자바, 러스트, 리뷰, 초기값, 쿼리, 쉘, 셸, 인자, 트리, 파일 이름
"""

CODE_ACTIONS: Final = """
stuck, restart, center, 重启, 不输出, 下载, 取得, 出力されない, 対処, 制約, 가져오기, 던지기, 처리, 다운로드,
list, unhandled, skips, capture, refused, compiled, executed, 占用, 配置, 丢失, 捕获, 跳过, 报错了, 使用中, スキップ, 有効化, 捕捉, 更新されない, 失敗, 確かめる, 건너뛰기, 거부됨, 활성화, 캡처하는, 해제, 사용 중, 공유,
implement, convert, define, defined, declare, parse, install, deploy, return, returning, invoke, override, overload, import,
iterate, sort, append, reverse, raise, throw, exits, overflow, initialize, cast, catch, example, runs, run, rewrite, fails, failing,
定义, 声明, 调用, 实现, 返回, 安装, 排查, 报, 重写, 反转, 抛出, 解析, 初始化, 继承, 传值, 捕获, 改成, 运行, 启动, 注释,
定義, 宣言, 呼び出し, 呼び出す, 返す, 実装, インストール, 変換, 抽出, 上書き, 初期化, 使い方, 動かない, 実行, 直して, 逆順, 書き直して, 失敗する, 読み方,
정의, 선언, 호출, 구현, 반환, 설치, 변환, 추출, 초기화, 뒤집기, 사용법, 실행, 고쳐, 해결, 읽는, 되돌리기, 취소하는, 충돌, 실패, 출력
"""

TABLE_SURE: Final = """
of these row, these row, those row, these column, those column, wrong row, which cell, this cell, tab separated, tab-separated, comma separated, comma-separated, separated file, to excel, from excel, into excel, over my column, my column, of the column, of my spreadsheet, 透视, 这几行, 这几列, 哪一行, 哪一列, 空白列, 制表符, 逗号分隔, 分隔符, 导出到 excel, 做成表格, 行标题, 列标题, 总行数, 员工人数, 列と結び, 空の列, 空の行, タブ区切り, カンマ区切り, 全部の行, すべての行, 全ての行, 全部の列, 行はどれ, 列はどれ, どの行, どの列, 小計を, シート全体, セルが, セルを, 集計して, 탭으로 구분, 쉼표로 구분, 구분된 파일, 어느 행, 어느 열, 어떤 행, 어떤 열, 틀린 행, 모든 행, 모든 열, 합계 행, 합계 열, 행 번호, 열 번호,
cell with, of cells, in each cell, adjacent cell, visible cell, empty cell, blank cell, selected cell, cell value, cell reference, cell formatting, histogram, scatter plot, box plot, crosstabulation, cross-tabulation, cross-tabulate, contingency table, staff list sheet,
row of the table, column of the table, row and column, rows and columns, excel workbook, in google sheets, field of the, left join, inner join, outer join, outlier, quartile, percentile, regression table, correlation matrix, time sheet, balance per, median, census data, survey result, summary table, list sheet, tabulate,
把表, 给表, 锁表, 建表, 删表, 分表, 查表, 表名, 表结构, 加一列, 加一行, 插入一行, 插入一列, 添加一列, 添加一行, 删除一列, 删除一行, 多一列, 中的列, 中的行, 一列数据, 一行数据, 某一列, 某列, 某几列, 几列, 拆成两列, 分成两列, 左连接, 内连接, 相关系数, 直方图, 柱状图, 折线图, 饼图, 频数, 环比, 同比, 增速表, 小计, 总计, 汇总表, 名单里, 清单的最后, 列表头, 列筛选, 各列, 各行, 首列, 末行, 末列, 上一行, 下一行, 左列, 右列, 两列, 三列,
データ, ピボットグラフ, 散布図, ヒストグラム, 棒グラフ, 折れ線グラフ, 円グラフ, 内部結合, 左結合, 小計, 総計, 前年比, 行を, 行の追加, 列の追加, 列を追加, 列も追加, 右側に列, 左側に列, 空白セル, 隣のセル, 推移表, 比較表, 相関係数, 四分位, シート間, 別シート, 他のシート, 同じ列, 同じ行, 二列, 三列, 隣の列, 上の行, 下の行, 表全体, 相関行列, テーブル結合, テーブル定義, テーブルにインデックス,
데이터, 피벗 차트, 산점도, 히스토그램, 막대 그래프, 원 그래프, 꺾은선 그래프, 내부 조인, 왼쪽 조인, 소계, 총계, 전년 대비, 다른 시트, 빈 셀, 옆 셀, 셀 안, 셀 값, 셀 값이, 추이 표, 비교표, 비교 표, 상관계수, 사분위, 같은 열, 같은 행, 두 열, 세 열, 옆 열, 윗 행, 아래 행, 열도, 행도, 매출표, 제목 행, 인구 통계, 이름 열, 열 추가, 행 추가, 열 합치기, 시트 간, 테이블 조인, 테이블에,
spreadsheet, spreadsheet function, worksheet, workbook, csv, tsv, xlsx, xls, ods, pivot, pivot table, vlookup, xlookup, hlookup, sumif, countif,
google sheet, excel sheet, excel file, excel formula, excel table, microsoft excel, in excel, dataframe, data frame,
dataset, data set, data table, database table, lookup table, price table, statistics table, statistics, statistical,
primary key, foreign key, conditional formatting, transpose, standard deviation, column name, column header, column width,
row height, row number, header row, top row, bottom row, last row, first row, empty row, blank row, duplicate row, each row,
every row, how many row, how many column, which column, which row, this column, this row, that column, that row,
last column, first column, date column, price column, name column, whole column, entire column, entire row, merged cell,
table schema, table column, table row, alter table, create table, drop table, two table, join table, into a table,
as a table, in the table, a table of, this table, the table, subtotal, cross tab, crosstab, parquet,
which sheet, existing sheet, this sheet, tabular, csv file, read_csv, time series,
表格, 数据表, 报表, 统计表, 汇总表, 工资表, 成绩表, 价目表, 明细表, 附表, 课程表, 订单表, 用户表, 两张表, 哪张表, 这张表, 表头, 表里, 制表, 列名, 列宽,
电子表格, 工作表, 工作簿, 透视表, 数据透视, 单元格, 首行, 空行, 空白行, 行高, 行数, 列数, 几行, 几列, 多少行, 多少列, 这一行, 这一列, 这列, 这行, 那一列, 最后一列, 最后一行,
的一行, 的一列, 每一行, 每一列, 每行, 每列, 整行, 整列, 标题行, 重复行, 重复数据, 隐藏列, 隐藏行, 指定列, 指定行, 增加一列, 行列转置, 转置, 主键, 外键, 字段, 统计, 统计数据, 数据集, 汇总, 标准差, 平均值, 中位数, 方差,
数据, 数据筛选, 数据有效性, 数据分析, 按列, 按行, 列求和, 行求和, 图表数据, 交叉表, 条件格式, 下拉列表, 一览表, 对照表, 人口普查,
エクセル, スプレッドシート, ワークシート, ピボット, ピボットテーブル, 表計算, 集計, 集計表, 統計, 統計表, 一覧表, 料金表, 価格表, 時刻表, 成績表, 表にまとめ, この表, 表形式,
セル, 列目, 行目, 列幅, 行の高さ, 先頭行, 見出し行, 重複行, 空白行, 空行, 最終行, 最後の列, 最後の行, 一番下の行, この列, この行, 各行, 各列, 全列, 特定の列, 行と列, 列名, 行を追加,
行数, 列数, 主キー, 外部キー, 条件付き書式, 標準偏差, 平均値, 中央値, データセット, データフレーム, 統計データ, クロス集計, 並べ替え, データベースのテーブル, 売上データ, 行だけ, 人口統計,
엑셀, 스프레드시트, 워크시트, 통합 문서, 피벗, 피벗 테이블, 피벗테이블, 집계, 집계표, 통계, 통계표, 일람표, 요금표, 가격표, 성적표, 시간표, 이 표, 표로, 표 안,
이 열, 이 행, 이 셀, 각 행, 각 열, 마지막 행, 마지막 열, 첫 행, 첫 열, 중복 행, 빈 행, 특정 열, 특정 행, 행과 열, 열과 행, 열 너비, 행 높이, 열 이름, 기본 키, 외래 키, 조건부 서식,
표준편차, 표준 편차, 평균값, 중앙값, 데이터셋, 데이터 세트, 데이터프레임, 통계 데이터, 셀 병합, 셀 서식, 머리글 행, 제목 행, 한 행씩, 날짜 열, 행 개수, 행만, 열만, 어느 시트, 데이터 정렬, 매출 데이터
"""

TABLE_NAMES: Final = "excel, table, sheet, column, row, cell, data, vlookup"
"""Hints that decide alone among Chinese, Japanese or Korean."""

TABLE_HINTS: Final = """
employee, expense report, headings, 员工, 开销, 支出, 男女比例, 社員数, 経費, 支出, 男女比, 직원, 지출, 내역, 남녀,
field, rate, percent, gdp, mortality, birth rate, growth rate, inflation, score, salary, headcount, employee count, rates, turnover, gross domestic product, order value, 工资, 销量, 成绩, 分数, 平均分, 出生率, 死亡率, 失业率, 增长率, 增速, 人均, 库存, 明细, 指数, 收入, 产量, 人口, 平均点, 得点, 点数, 出生率, 成長率, 失業率, 指数, 所得, 給与, 人口, 在庫, 名簿, 平均, 평균, 점수, 성장률, 출생률, 실업률, 지수, 소득, 급여, 인구, 재고, 명단, 물가,
table, column, row, sheet, cell, excel, data, record, respondent, figure, chart, value, sales, revenue, income, expense, population, unemployment, range, header,
census, survey data, delimiter, semicolon,
表, 列, 行, 图表, 数值, 记录, 清单, 名单, 表单, 第几, 占比, 百分比, 比例, 人数, 数量, 销售额,
テーブル, シート, 列, 行, 表, 値, データ, 一覧, グラフ, 割合, 欄, 人数, 売上, レコード件数,
표, 열, 행, 셀, 시트, 테이블, 컬럼, 칼럼, 데이터, 값, 목록, 비율, 차트, 필드, 매출, 요금표 줄
"""

TABLE_ACTIONS: Final = """
empty, blank, separated, compare, 空白, 最低, 周, 全体, 空の, 調べる, 直す, 수, 빈, 틀린, 보이,
largest, smallest, biggest, most, copy, select, border, align, wrap, adjust, resize, find, by city, by gender, by category, by product, by department, by customer, by quarter, by week, by day, by district, by county, by age group, by sex, per district, per city, per capita, per week, per day, per quarter,
per category, per product, per customer, per person, per department, per employee, by province, by sector, by industry, by team, over time, breakdown, distribution of, in the list, align, next to, bottom, left, right,
对比, 每个部门, 按部门,   每个月, 每月, 历年, 按年, 按性别, 按年龄, 按类别, 分布, 趋势, 最多, 最少, 人均, 哪个省, 转成图, 居民, 备注, 近十年, 口径,
 別の平均,     最も高い, 最も多い, 一番高い, 一番多い, 推移, 分布, 内訳, 一部, 太い線, 外側, 右側, 左側, 未満の, 以上の, 一人当たり, 過去, 県, 罫線, 出したい,
     추이, 분포, 합치기, 조회, 찾기, 비교, 1인당, 최근, 가장 많은, 가장 적은, 참조하기, 미만, 이상, 맞춤, 테두리, 아래, 오른쪽, 왼쪽,
sum, total, average, mean, median, maximum, minimum, highest, lowest, percentage, number of, count, sort, filter, merge,
split, join, delete, remove, hide, freeze, insert, format, formula, add up, export, duplicate, third, second, last,
by month, by region, by state, by country, by year, by age, by date, by name, per month, per country, per year, per region,
per state, per capita, monthly, quarterly, annual report, price, amount, where, select a, from that, paste, pasted, first,
合计, 总和, 求和, 平均, 最大, 最小, 最高, 最低, 总数, 排序, 筛选, 合并, 拆分, 删除, 隐藏, 冻结, 格式, 公式, 导出, 按月份, 按月, 按日期, 按地区, 按姓名,  季度,
打印, 重复, 排个序, 字段, 第一, 第二, 第三, 最后,
合計, 平均, 最大, 最小, 最高, 最低, 件数, 並べ替え, 並べ替えて, 絞り込み, フィルター, 結合, 分割, 削除, 非表示, 固定, 書式, 数式,   別の割合,
追加, 入れ替える, 共有, 保護, 名の一覧, 文字化け, 最後, 一番下, 見出し, 印刷, 顧客, 年度,
합계, 총합, 평균, 최대, 최소, 최고, 최저, 개수, 정렬, 필터, 필터링, 병합, 분할, 삭제, 숨기기, 고정, 서식, 수식,   추가, 바꾸기, 더해, 번째,
마지막, 첫, 둘째, 줄, 너비, 보호, 공유, 이름 목록, 고객, 주문, 가장 높은, 가장 낮은, 중복, 서식, 기준
"""

FALSE_FRIENDS: Final = """
인코딩, 表里如一, データ通信, データ復旧, データ移行, データ量, データ容量, データ 通信, 데이터 복구, 데이터 센터, 데이터 통신, 데이터 쉐어링, 関数電卓, function key, bank statement, witness statement, mission statement, personal statement, sea port, port wine, port of, host family, host city, promise ring, exchange rate, heart rate, credit score, music score, field trip, field hockey, soccer field, app store, sales tax, income tax, incomes tax,
table tennis, coffee table, dining table, side table, pool table, round table, table manner, table salt, table lamp,
bedside table, operating table, table reservation, periodic table, water table, turn the table, bed sheet, sheet music, cotton sheet,
ice sheet, sheet metal, sheet mask, baking sheet, cookie sheet, dryer sheet, thread count, spinal column, vertebral column, roman column, advice column,
opinion column, gossip column, column in the, row boat, death row, front row seat, in a row, prison cell, stem cell, blood cell, cell phone,
cell membrane, cell division, fuel cell, solar cell, cancer cell, sickle cell, excel at, excel in life, data plan, data privacy, data cable, data roaming,
dress code, zip code, postal code, area code, morse code, building code, penal code, civil code, tax code, bar code, promo code,
discount code, coupon code, country code, color code, code of conduct, code of ethics, genetic code, qr code, swift code, access code, code name, java island, java sea,
string quartet, guitar string, string theory, string bean, first class, social class, middle class, working class, business class, yoga class,
class action, class reunion, swift bird, taylor swift, ruby ring, rust on, rust removal, python snake, ball python, burmese python, shell collecting,
sea shell, egg shell, shell company, bug bite, bug spray, bed bug, branch manager, bank branch, olive branch, public library, library card, library hours,
library opening, object permanence, query letter, package tour, executive function,
liver function, kidney function, brain function, heart function, function of, trial and error, human error, spring break, post office,
let go, property tax, header image, sewing thread, cluster headache, proxy war,
代表, 发表, 表演, 表达, 表面, 表示, 表现, 表明, 表扬, 表情, 表白, 表态, 表决, 表彰, 表弟, 表哥, 表姐, 表妹, 表皮, 表层, 手表, 外表, 钟表, 电表, 水表, 仪表, 怀表, 腕表, 表率, 表述, 表象, 课程表演,
列车, 列宁, 系列, 列出, 列举, 陈列, 排列, 序列号, 前列, 列岛, 以色列, 并列, 下列, 罗列, 列强, 列传, 名列, 行李, 银行, 旅行, 行为, 进行, 行业, 行动, 行政, 行程, 行走, 行驶, 行星, 行人, 执行, 发行, 流行, 飞行, 步行,
自行, 行医, 举行, 实行, 可行, 同行, 行情, 言行, 品行, 行使, 送行, 推行, 行列, 通行, 航行, 履行, 骑行, 数据线, 数据隐私, 数据流量, 移动数据, 三角函数, 二次函数, 一次函数, 指数函数, 对数函数, 反函数,
人类, 种类, 分类, 类似, 肉类, 鱼类, 鸟类, 异常天气, 异常气候, 保险库, 水库, 车库, 国库, 继承遗产, 遗产继承, 继承人, 继承权, 相亲对象, 脚本杀, 请求权,
提交申请, 法律漏洞,
qrコード, 電源コード, 延長コード, コード決済, 代表, 発表, 表現, 表面, 表参道, 表情, 表示, 表彰, 表紙, 表明, 時計表, 裏表, 表札, 表通り, 表向き, 表裏, 辞表, 公表, 表門,
行列のできる, 行列店, 列車, 列島, 系列, 列挙, 陳列, 並列, 前列, 列席, 銀行, 旅行, 行動, 行政, 行為, 行方, 行事, 行程, 進行, 流行, 飛行, 発行, 歩行, 急行, 行き方, 行き, 行く, 行って, 行った, 行ける, 行ない, 行う, 行い, 行われ,
行進, 航行, 通行, 執行, 施行, 興行, 孝行, 座席シート, クラス会, クラス替え, ループ線,
三角関数, 二次関数, 一次関数, 異例外, 大型, 小型, 新型, 典型, 血液型, 体型, 髪型, 型紙, 模型, 類型, 中型, 価値, 値段, 値上げ, 値下げ, 数値目標,
바코드, 레코드, 드레스 코드, qr코드, 성격 코드, 비행기 표, 티켓 표, 열이 날, 열이 나, 열 내리, 열나,
시트콤, 카시트, 침대 시트, 시트 사이즈, 테이블 매너, 식탁 테이블, 시트지, 마스크 시트, 삼각함수, 이차함수, 일차함수,
데이터 요금제, 데이터 무제한, 데이터 로밍, 자바섬, 자바 섬, 스타일 리스트, 버킷 리스트, 위시리스트, 필드 하키
"""

TITLES: Final = """
lyrics, cast, soundtrack, episode list, ost, filmography, chords, merchandise, thank you card, box office,
歌词, 结局, 演员表, 主题曲, 片尾曲, 票房, 剧情简介, 电视剧, 豆瓣, 影评, 谢谢卡, 大结局,
歌詞, あらすじ, 興行収入, 主題歌, キャスト, 声優, 語源, サウンドトラック, 最終回,
가사, 줄거리, 등장인물, 결말, 주제가, 출연진, 흥행, 어원, 관객 수
"""
"""Beside these, what sounds like talk is the name of a song, film or book."""

CONDITIONS: Final = """
if, unless, whether, in case, provided that, provided, assuming, suppose, when, until, otherwise, only if, as long as, depending on, given that,
如果, 假如, 要是, 倘若, 除非, 只要, 只有, 是否, 能否, 否则, 万一, 取决于, 的话, 的情况下,
もし, 場合, ならば, なら, たら, れば, かどうか, でなければ, 限り, 次第, 際に,
만약, 만일, 경우, 라면, 으면, 이면, 다면, 한다면, 하면, 나면, 가면, 되면, 않으면, 없으면, 는지, 아니라면, 때
"""

CAUSES: Final = """
why, because, cause, reason, since, therefore, thus, hence, due to, so that, result in, lead to, as a result,
为什么, 为何, 因为, 所以, 因此, 由于, 原因, 导致, 从而, 既然, 以便,
なぜ, どうして, なんで, 理由, 原因, ため, ので, したがって, そのため, だから, によって,
왜, 이유, 원인, 때문, 그러므로, 따라서, 그래서, 그러니까, 덕분
"""

COMPARISONS: Final = """
than, vs, versus, compare, compared, comparison, difference, different, better, worse, best, more, less, rather, same as, similar, between, instead of, prefer,
比较, 相比, 对比, 区别, 不同, 差异, 更, 优于, 不如, 哪个好, 哪个更, 还是, 与其, 最好, 相同,
比較, 違い, 比べ, 比べて, どちら, どっち, 異なる, ほうが, 方が, 同じ, 優れ,
비교, 차이, 보다, 더, 다른, 대신, 어느, 같은, 가장, 나은, 낫
"""

NEGATIONS: Final = """
not, no, never, without, none, neither, nor, cannot, can't, don't, doesn't, didn't, isn't, aren't, won't, wouldn't, shouldn't, wasn't, couldn't, except, haven't, hasn't,
不, 没, 没有, 不是, 不能, 不会, 除了, 无法,
ない, ません, なく, なかった, 以外, 無い, なし,
않, 않는, 않은, 않고, 안, 못, 없, 없이, 없는, 없을까, 아니, 아닌, 말고, 제외
"""

CONNECTIVES: Final = """
and, or, but, however, although, though, while, also, then, after, before, both, either, first, finally, still, yet, moreover,
和, 与, 或, 或者, 并且, 而且, 但, 但是, 不过, 虽然, 尽管, 然后, 之后, 之前, 同时, 以及,
または, 及び, および, かつ, しかし, でも, けど, そして, その後, また, 一方, さらに, まず, 次に, ながら,
그리고, 또는, 혹은, 및, 하지만, 그러나, 그런데, 그 후, 다음, 먼저, 동시에, 또한, 비록, 면서, 거나, 하고
"""

QUESTIONS: Final = """
what, how, which, who, where, when, why, whose, whom,
什么, 怎么, 如何, 哪, 哪个, 哪些, 谁, 多少, 几, 为什么, 怎样, 哪里,
何, どう, どの, どれ, 誰, いつ, どこ, なぜ, いくら, どうやって, なんで, どちら, どっち,
무엇, 뭐, 어떻게, 어느, 어떤, 누구, 어디, 언제, 왜, 얼마, 몇, 무슨
"""

STOP_WORDS: Final = """
a, an, the, of, to, in, on, at, by, for, from, with, about, into, as, is, are, was, were, be, been, being, am, do, does, did, done,
have, has, had, can, could, will, would, shall, should, may, might, must, i, me, my, we, us, our, you, your, he, him, his, she, her, it, its,
they, them, their, this, that, these, those, there, here, what, how, which, who, where, when, why, whose, whom, and, or, but, if, then, than,
so, not, no, nor, too, very, just, only, also, please, i'm, i've, i'd, it's, that's, what's, don't, doesn't, didn't, isn't, can't, let's, up, out,
over, under, some, any, all, each, such, own, same, other, more, most, while, because, until, again, once, ok, okay, hi, hello, hey, thanks, thank you,
的, 了, 是, 在, 和, 与, 或, 及, 以及, 也, 都, 就, 而, 把, 被, 让, 给, 对, 从, 到, 向, 于, 为, 之, 其, 这, 那, 这个, 那个, 这些, 那些, 我, 你, 您, 他, 她, 它, 我们, 你们, 他们,
吗, 呢, 吧, 啊, 呀, 嘛, 哦, 啦, 什么, 怎么, 如何, 哪, 哪个, 哪些, 谁, 多少, 几, 怎样, 为什么, 有, 没有, 不, 很, 还, 再, 又, 请, 请问, 谢谢, 你好, 一个, 会, 能, 可以, 要, 得, 着, 过, 个,
の, は, が, を, に, へ, と, で, も, や, か, から, まで, より, など, だけ, です, ます, ました, ません, でした, ですか, ますか, する, した, して, している, される, なる, ある, いる, いい, この, その, あの, これ, それ, あれ,
ください, について, という, とは, のは, のか, には, では, とき, こと, もの, ね, よ, な, さ, だ, って, けど, たい, 何, どう, どの, どれ, いつ, どこ, なぜ, ありがとう, ない, れる, られる, ください,
그, 이, 저, 것, 거, 수, 좀, 더, 및, 또는, 그리고, 하는, 하기, 된, 할, 한, 어떻게, 무엇, 뭐, 어느, 어떤, 왜, 무슨, 있는, 없는, 있다, 없다, 하면, 되나, 하나, 주세요, 줘, 해, 그럼, 안녕하세요, 고마워, 감사합니다
"""
"""What carries no content: articles, prepositions, auxiliaries, pronouns, question words,
particles. Short on purpose: a word that names something is never among them."""

PARTICLES: Final = (
    "으로부터 에서부터 은요 는요 도요 로요 이라는 이라고 에서는 에서도 에게서 으로는 까지는 부터는 이나마 으로 에서 에게 한테 까지 부터 처럼 마다 조차 "
    "밖에 이나 라는 라고 에는 에도 과는 와는 로는 이란 께서 은 는 이 가 을 를 의 에 로 와 과 도 만 나 란"
)
"""Korean particles, the longest first, taken off the end of a word."""
