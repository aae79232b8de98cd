<?php
// Laravel's schema builder, query builder and Eloquent over PDO. The server's port is the argument.

use Illuminate\Database\Capsule\Manager as DB;
use Illuminate\Database\Eloquent\Model;
use Illuminate\Database\Eloquent\SoftDeletes;
use Illuminate\Database\QueryException;
use Illuminate\Database\Schema\Blueprint;

foreach (['Database', 'Events', 'Pagination'] as $part) {
    require_once "Illuminate/$part/autoload.php";
}

function check($found, $expected)
{
    if ($found !== $expected) {
        throw new Exception(json_encode($found) . ' is not ' . json_encode($expected));
    }
}

function state(callable $fails)
{
    try {
        $fails();
    } catch (QueryException $error) {
        return $error->getCode();
    }
    return null;
}

$manager = new DB();
$manager->addConnection([
    'driver' => 'pgsql', 'host' => '127.0.0.1', 'port' => $argv[1], 'database' => $argv[2] ?? 'postgres',
    'username' => 'postgres', 'charset' => 'utf8', 'schema' => 'public',
]);
$manager->setAsGlobal();
$manager->bootEloquent();

class Author extends Model
{
    protected $guarded = [];
    protected $casts = ['settings' => 'array', 'admin' => 'boolean', 'born' => 'date'];

    public function posts()
    {
        return $this->hasMany(Post::class);
    }
}

class Post extends Model
{
    use SoftDeletes;
    protected $guarded = [];

    public function tags()
    {
        return $this->belongsToMany(Tag::class)->withPivot('weight')->withTimestamps();
    }
}

class Tag extends Model
{
    protected $guarded = [];
    public $timestamps = false;
}

function make($schema)
{
    $schema->create('authors', function (Blueprint $table) {
        $table->id();
        $table->string('name', 100);
        $table->string('email')->unique();
        $table->jsonb('settings')->nullable();
        $table->decimal('balance', 10, 2)->default(0);
        $table->boolean('admin')->default(false);
        $table->date('born')->nullable();
        $table->enum('level', ['low', 'high'])->default('low');
        $table->time('at', 3)->nullable();
        $table->timestampsTz(6);
    });
    $schema->create('posts', function (Blueprint $table) {
        $table->id();
        $table->foreignId('author_id')->constrained()->cascadeOnDelete();
        $table->string('title')->index();
        $table->text('body')->nullable()->comment('the text');
        $table->integer('views')->default(0);
        $table->softDeletes();
        $table->timestamps();
        $table->unique(['author_id', 'title']);
    });
    $schema->create('tags', function (Blueprint $table) {
        $table->integer('id')->generatedAs()->primary();
        $table->string('name');
        $table->string('loud')->storedAs('upper(name)')->nullable();
    });
    $schema->create('post_tag', function (Blueprint $table) {
        $table->foreignId('post_id');
        $table->foreignId('tag_id');
        $table->integer('weight')->default(1);
        $table->timestamps();
        $table->primary(['post_id', 'tag_id']);
    });
    check($schema->getColumnListing('tags'), ['id', 'name', 'loud']);
    check([$schema->hasTable('posts'), $schema->hasColumn('posts', 'none')], [true, false]);
}

function models()
{
    $ann = Author::create(['name' => 'Ann', 'email' => 'a@x', 'settings' => ['n' => [1, 2], 'theme' => 'dark'],
        'born' => '2000-02-29', 'balance' => '12.34'])->refresh();
    check([$ann->settings, $ann->balance, $ann->born->toDateString(), $ann->admin],
        [['n' => [1, 2], 'theme' => 'dark'], '12.34', '2000-02-29', false]);
    check(state(fn () => Author::create(['name' => 'Bob', 'email' => 'a@x'])), '23505');
    check(state(fn () => Author::create(['name' => 'Bob', 'email' => 'b@x', 'level' => 'none'])), '23514');
    foreach ([1, 2, 3] as $number) {
        $ann->posts()->create(['title' => "T$number"]);
    }
    check(Author::withCount('posts')->with('posts')->first()->posts_count, 3);
    check(Author::whereHas('posts', fn ($query) => $query->where('title', 'T1'))->count(), 1);
    $tag = Tag::create(['name' => 'red']);
    check($tag->refresh()->loud, 'RED');
    $post = Post::orderBy('id')->first();
    $post->tags()->attach($tag, ['weight' => 3]);
    $post->tags()->sync([$tag->id => ['weight' => 4]]);
    check($post->tags()->first()->pivot->weight, 4);
    check([Author::where('settings->theme', 'dark')->count(), Author::whereJsonContains('settings->n', 1)->count(),
        Author::whereJsonLength('settings->n', 2)->count()], [1, 1, 1]);
    Author::where('id', $ann->id)->update(['settings->theme' => 'light']);
    check($ann->refresh()->settings['theme'], 'light');
    check([Author::whereDate('born', '2000-02-29')->count(), Author::whereYear('born', 2000)->count()], [1, 1]);
    Post::where('title', 'T3')->first()->delete();
    check([Post::count(), Post::withTrashed()->count(), Post::onlyTrashed()->restore()], [2, 3, 1]);
}

function queries()
{
    check(Post::join('authors', 'authors.id', '=', 'posts.author_id')->where('authors.name', 'Ann')->update(['views' => 9]), 3);
    check(DB::table('posts')->orderBy('id')->limit(1)->update(['views' => 11]), 1);
    check(DB::table('posts')->join('authors', 'authors.id', '=', 'posts.author_id')
        ->updateFrom(['body' => DB::raw('authors.name')]), 3);
    check(DB::table('post_tag')->limit(1)->delete(), 1);
    check(DB::table('posts')->join('authors', 'authors.id', '=', 'posts.author_id')->where('authors.name', 'Bob')->delete(), 0);
    check(DB::table('posts')->orderBy('id')->pluck('views')->all(), [11, 9, 9]);
    DB::table('authors')->upsert([['name' => 'Ada', 'email' => 'a@x'], ['name' => 'Bob', 'email' => 'b@x']], ['email'], ['name']);
    check(DB::table('authors')->insertOrIgnore(['name' => 'none', 'email' => 'b@x']), 0);
    check(DB::table('authors')->updateOrInsert(['email' => 'b@x'], ['name' => 'Bert']), true);
    check(Author::orderBy('email')->pluck('name')->all(), ['Ada', 'Bert']);
    check(Author::firstOrCreate(['email' => 'c@x'], ['name' => 'Cid'])->name, 'Cid');
    check(DB::table('posts')->groupBy('author_id')->havingRaw('count(*) > ?', [1])->selectRaw('sum(views) as n')->first()->n, 29);
    check(DB::table('tags')->select('name')->union(DB::table('authors')->select('name'))->orderBy('name')->pluck('name')->all(),
        ['Ada', 'Bert', 'Cid', 'red']);
    check(Post::orderBy('id')->forPage(2, 2)->pluck('title')->all(), ['T3']);
    check(Post::paginate(2, ['*'], 'page', 1)->total(), 3);
    $seen = 0;
    Post::chunkById(2, function ($posts) use (&$seen) {
        $seen += $posts->count();
    });
    foreach (Post::cursor() as $post) {
        $seen++;
    }
    check($seen, 6);
    check([Post::where('title', 'ilike', 't%')->count(), Post::whereRaw('title = any(?)', ['{T1,T2}'])->count()], [3, 2]);
}

function transactions()
{
    DB::beginTransaction();
    Tag::create(['name' => 'kept']);
    DB::beginTransaction();
    Tag::create(['name' => 'gone']);
    DB::rollBack();
    DB::commit();
    check(Tag::whereIn('name', ['kept', 'gone'])->pluck('name')->all(), ['kept']);
    $first = fn ($lock) => Post::lock($lock)->orderBy('id')->first()->title;
    check(DB::transaction(fn () => array_map($first, [true, false, 'for update skip locked'])), ['T1', 'T1', 'T1']);
}

function changes($schema)
{
    $schema->table('tags', fn (Blueprint $table) => $table->string('color', 20)->nullable()->index());
    $schema->table('tags', fn (Blueprint $table) => $table->dropColumn('color'));
    $schema->rename('tags', 'labels');
    $schema->rename('labels', 'tags');
    $schema->table('posts', function (Blueprint $table) {
        $table->dropForeign(['author_id']);
        $table->foreign('author_id')->references('id')->on('authors')->onUpdate('cascade')->deferrable();
        $table->dropUnique(['author_id', 'title']);
        $table->renameIndex('posts_title_index', 'posts_by_title');
    });
    $schema->disableForeignKeyConstraints();
    $schema->enableForeignKeyConstraints();
    DB::table('post_tag')->truncate();
    DB::statement('create view titles as select title from posts');
    check(DB::table('titles')->count(), 3);
    $schema->dropAllViews();
    $schema->dropAllTypes();
    $schema->dropAllTables();
    check(count($schema->getAllTables()), 0);
}

function temporary($schema)
{
    DB::beginTransaction();
    $schema->create('basket', function (Blueprint $table) {
        $table->temporary();
        $table->increments('id');
        $table->string('name');
    });
    DB::table('basket')->insert([['name' => 'red'], ['name' => 'blue']]);
    check(DB::table('basket')->orderBy('id')->pluck('name')->all(), ['red', 'blue']);
    DB::rollBack();
    check(state(fn () => DB::table('basket')->count()), '42P01');
}

make(DB::schema());
models();
queries();
transactions();
temporary(DB::schema());
changes(DB::schema());
echo "ok\n";
